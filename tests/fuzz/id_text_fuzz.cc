// Any bytes as the template of readable IDs, and behind a newline as the text of one: no crash, no
// hang; every refusal says what is allowed; what is written is read back as the same number; and
// what is read is written again as the same text, but for what the base leaves open.
//
// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/* daemon/os/aes.cc
// libs: -lnettle
// seeds: tests/fuzz/text_seeds.py
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/core/text/id_text.h"
#include "daemon/os/aes.h"

namespace {

using seqd::IdTemplate;

// A time of which each part is what the text says, where it says any.
seqd::CivilTime time_of(const seqd::IdDate& date) {
  seqd::CivilTime time;
  const auto take = [&](seqd::DatePart part, int& field) {
    field = date.get(part).value_or(field);
  };
  take(seqd::DatePart::year, time.year);
  take(seqd::DatePart::month, time.month);
  take(seqd::DatePart::day, time.day);
  take(seqd::DatePart::day_of_year, time.day_of_year);
  take(seqd::DatePart::hour, time.hour);
  take(seqd::DatePart::minute, time.minute);
  take(seqd::DatePart::second, time.second);
  take(seqd::DatePart::week_year, time.week_year);
  take(seqd::DatePart::week, time.week);
  take(seqd::DatePart::weekday, time.weekday);
  return time;
}

void write_and_read(const IdTemplate& form, std::int64_t number, const seqd::Scramble* scramble) {
  const seqd::CivilTime time = seqd::civil_time(number % seqd::kLastSecond);
  const int key = form.tells_key ? static_cast<int>(number % 9) + 1 : 0;
  const std::string text = seqd::write_id(form, number, time, scramble, key);
  const auto parsed = seqd::read_id(form, text, scramble);
  ASSERT(parsed.ok() && parsed->key == key);
  ASSERT(parsed->number == number);
}

void read_and_write(const IdTemplate& form, std::string_view text, const seqd::Scramble* scramble) {
  const auto parsed = seqd::read_id(form, text, scramble);
  if (!parsed.ok()) {
    ASSERT(parsed.status().code() == seqd::ErrorCode::BAD_TEXT);
    ASSERT(!parsed.status().text().empty() && parsed.status().text().size() < 400);
    return;
  }
  const std::string again =
      seqd::write_id(form, parsed->number, time_of(parsed->date), scramble, parsed->key);
  ASSERT(again.size() == text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool same = text[at] == again[at];
    ASSERT(same || form.radix->value(text[at]) == form.radix->value(again[at]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const seqd::BlockCipher> cipher =
      seqd::make_aes("2b7e151628aed2a6abf7158809cf4f3c").value();
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(all.find('\n'), all.size());
  const auto form = seqd::read_template(all.substr(0, line));
  if (!form.ok()) {
    ASSERT(form.status().code() == seqd::ErrorCode::CONFIG);
    ASSERT(form.status().text().find("allowed: ") != std::string::npos);
    return 0;
  }
  std::optional<seqd::Scramble> scramble;
  if (form->scramble) scramble.emplace(*cipher, "orders");
  const seqd::Scramble* const used = scramble ? &*scramble : nullptr;
  std::int64_t number = 1;
  for (const char c : all.substr(0, std::min<std::size_t>(size, 8)))
    number = (number << 7 | (c & 0x7f)) & INT64_MAX;
  write_and_read(*form, number == 0 ? 1 : number, used);
  read_and_write(*form, line < all.size() ? all.substr(line + 1) : all, used);
  return 0;
}

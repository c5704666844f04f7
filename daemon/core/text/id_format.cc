#include "daemon/core/text/id_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/text/period_name.h"

namespace seqd {
namespace {

IdKeys one_key(std::shared_ptr<const BlockCipher> key) {
  IdKeys keys;
  if (key != nullptr) keys[0] = std::move(key);
  return keys;
}

}  // namespace

IdFormat::IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone, IdKeys keys)
    : form_(std::move(form)), zone_(std::move(zone)), keys_(std::move(keys)) {
  ASSERT(!form_.scramble || !keys_.empty());
  ASSERT(!form_.tells_key || !keys_.contains(0));
}

IdFormat::IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone,
                   std::shared_ptr<const BlockCipher> key)
    : IdFormat(std::move(form), std::move(zone), one_key(std::move(key))) {}

bool IdFormat::has_date() const {
  return std::any_of(form_.pieces.begin(), form_.pieces.end(),
                     [](const auto& piece) { return piece.kind == IdTemplate::Kind::date; });
}

std::string IdFormat::key_mark() const {
  if (!form_.scramble) return "-";
  CipherBlock block{};
  keys_.rbegin()->second->encrypt(block);
  std::string out = std::to_string(newest_key()) + ":";
  constexpr std::string_view kHex = "0123456789abcdef";
  for (std::size_t at = 0; at < 4; ++at) {
    out += kHex[block[at] >> 4];
    out += kHex[block[at] & 15];
  }
  return out;
}

std::optional<Scramble> IdFormat::scramble_for(const std::string& base, std::string_view period,
                                               int key) const {
  const auto found = keys_.find(key);
  if (!form_.scramble || found == keys_.end()) return std::nullopt;
  return std::optional<Scramble>(std::in_place, *found->second,
                                 period.empty() ? base : period_sequence(base, period));
}

std::int64_t IdFormat::local(std::int64_t wall_s) const {
  if (zone_ == nullptr) return wall_s;
  wall_s = std::clamp<std::int64_t>(wall_s, 0, kLastSecond);
  if (wall_s < offset_.begin_s || wall_s >= offset_.end_s) offset_ = zone_->offset_at(wall_s);
  return wall_s + offset_.offset_s;
}

std::string IdFormat::write(const std::string& name, std::int64_t number,
                            std::int64_t wall_s) const {
  const int key = newest_key();
  const auto scramble = scramble_for(std::string(base_of(name)), period_of(name), key);
  return write_id(form_, number, civil_time(local(wall_s)), scramble ? &*scramble : nullptr, key);
}

Result<ParsedId> IdFormat::read(const std::string& name, std::string_view text) const {
  return read_id(form_, text, [&](const ParsedId& rest) {
    const std::string period = rule_ == nullptr ? "" : period_told(rule_->unit(), rest.date);
    return scramble_for(name, period, form_.tells_key ? rest.key : newest_key());
  });
}

}  // namespace seqd

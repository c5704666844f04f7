#include "tests/unit/random_template.h"

#include <rapidcheck.h>

#include <utility>
#include <vector>

#include "daemon/base/text/radix.h"

namespace seqd {
namespace {

std::string random_literal() {
  const std::string all = "ABCXYZabcxyz0123456789-/._ :%~";
  std::string out;
  for (auto length = *rc::gen::inRange(0, 5); length > 0; --length) {
    const auto at = *rc::gen::inRange<std::size_t>(0, all.size() + 2);
    out += at < all.size() ? std::string(1, all[at]) : at == all.size() ? "{{" : "}}";
  }
  return out;
}

// The parts of one calendar, in any order, and of the clock.
std::string random_date() {
  const std::vector<std::string> calendars = {"Ymd", "ymd", "Yj", "yj", "GVu", "gVu", ""};
  std::string letters = *rc::gen::elementOf(calendars);
  letters += "HMS";
  std::string out;
  for (char letter : letters) {
    if (*rc::gen::arbitrary<bool>()) continue;
    const std::string part = std::string("%") + letter;
    out = *rc::gen::arbitrary<bool>() ? out + part : part + out;
  }
  return out.empty() ? "" : "{date:" + out + "}";
}

std::string random_number(const Radix& radix, bool scrambles, std::size_t width) {
  std::string options;
  if (width > 0) options += "," + std::to_string(width);
  if (radix.base() != 10 || *rc::gen::arbitrary<bool>())
    options += ",base" + std::to_string(radix.base());
  if (scrambles) options += ",scramble";
  if (!options.empty()) options[0] = ':';
  return "{number" + options + "}";
}

std::string random_check(const Radix& radix) {
  if (radix.base() > 36 || *rc::gen::arbitrary<bool>()) return "";
  if (radix.base() != 10) return "{check:mod97}";
  return "{check:" + *rc::gen::element<std::string>("luhn", "damm", "mod97") + "}";
}

}  // namespace

std::string random_template(bool scrambles) {
  const Radix& radix = *Radix::find(*rc::gen::element(10U, 16U, 32U, 36U, 58U, 62U));
  const bool scramble = scrambles && *rc::gen::arbitrary<bool>();
  const std::size_t least = scramble ? radix.length(999'999) : 0;
  const auto width = *rc::gen::inRange<std::size_t>(least, radix.longest() + 1);
  const std::string date = random_date();
  const bool date_first = *rc::gen::arbitrary<bool>();
  std::string out = random_literal();
  if (date_first) out += date + random_literal();
  out += random_number(radix, scramble, width);
  std::string check = random_check(radix);
  if (*rc::gen::arbitrary<bool>()) out += std::exchange(check, "");
  // What follows a number without a width must not look like one of its digits.
  if (width == 0) out += "-";
  if (!date_first) out += random_literal() + date;
  out += random_literal();
  return out + check;
}

}  // namespace seqd

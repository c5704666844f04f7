#include "daemon/core/text/id_template.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using Kind = IdTemplate::Kind;
using Piece = IdTemplate::Piece;

bool is_printable(char c) {
  return c >= 0x20 && c <= 0x7e;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// A non-negative number below 1000; -1 for anything else.
int small_number(std::string_view text) {
  if (text.empty() || text.size() > 3) return -1;
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return out;
}

// How many digits in that base make kLeastScrambled numbers.
std::size_t least_scrambled_width(const Radix& radix) {
  return radix.length(kLeastScrambled - 1);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<IdTemplate> read() {
    if (text_.size() > kMostTemplate) {
      return Status(ErrorCode::CONFIG, "has " + std::to_string(text_.size()) +
                                           " characters; allowed: at most " +
                                           std::to_string(kMostTemplate));
    }
    const auto bad = std::find_if_not(text_.begin(), text_.end(), is_printable);
    if (bad != text_.end())
      return fault(static_cast<std::size_t>(bad - text_.begin()),
                   "found a character that is not plain ASCII; allowed: space to ~");
    while (at_ < text_.size()) {
      if (Status status = read_one(); !status.ok()) return status;
    }
    if (Status status = check_whole(); !status.ok()) return status;
    return std::move(out_);
  }

 private:
  static Status fault(std::size_t place, const std::string& what) {
    return {ErrorCode::CONFIG, "position " + std::to_string(place + 1) + ": " + what};
  }

  Status read_one() {
    const char c = text_[at_];
    const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      add_literal(c, 2);
      return {};
    }
    if (c == '{') return read_braces();
    if (c == '}') return fault(at_, "found a } without its {; allowed: }} for a brace");
    add_literal(c, 1);
    return {};
  }

  // `from` characters of the template stand for `c`.
  void add_literal(char c, std::size_t from) {
    if (out_.pieces.empty() || out_.pieces.back().kind != Kind::literal)
      out_.pieces.push_back({Kind::literal, "", DatePart::year, 0, at_});
    out_.pieces.back().literal += c;
    ++out_.pieces.back().length;
    at_ += from;
  }

  Status read_braces() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find_first_of("{}", begin + 1);
    if (end == std::string_view::npos || text_[end] != '}')
      return fault(begin, "found a { without its }; allowed: {{ for a brace");
    const std::string_view inner = text_.substr(begin + 1, end - begin - 1);
    const std::size_t colon = std::min(inner.find(':'), inner.size());
    const std::string_view word = inner.substr(0, colon);
    // Behind the colon; where there is none, nothing stands there.
    const std::string_view rest = inner.substr(std::min(colon + 1, inner.size()));
    const bool bare = colon == inner.size();
    at_ = begin + 1 + std::min(colon + 1, inner.size());
    Status status;
    if (word == "date") {
      status = read_date(rest);
    } else if (word == "number") {
      status = read_number(rest, begin, bare);
    } else if (word == "key" && bare) {
      status = read_key_number(begin);
    } else if (word == "check") {
      status = read_check(rest, begin);
    } else {
      status = fault(begin, "found " + quoted("{" + std::string(inner) + "}") +
                                "; allowed: {date:...}, {number...}, {key}, {check:...}, and {{ "
                                "for a brace");
    }
    at_ = end + 1;
    return status;
  }

  Status read_date(std::string_view format) {
    if (format.find('%') == std::string_view::npos)
      return fault(at_, "found no date part; allowed: {date:FORMAT} with " + date_letters());
    for (const std::size_t end = at_ + format.size(); at_ < end;) {
      if (text_[at_] != '%') {
        add_literal(text_[at_], 1);
        continue;
      }
      const DatePartInfo* info = at_ + 1 < end ? find_date_part(text_[at_ + 1]) : nullptr;
      if (info == nullptr) {
        return fault(at_, "found " + quoted(text_.substr(at_, at_ + 1 < end ? 2 : 1)) +
                              "; allowed: " + date_letters());
      }
      for (const Piece& piece : out_.pieces) {
        if (piece.kind != Kind::date || !exclude_each_other(piece.part, info->part)) continue;
        return fault(at_, clash(piece, *info));
      }
      out_.pieces.push_back({Kind::date, "", info->part, info->width, at_});
      at_ += 2;
    }
    return {};
  }

  static std::string clash(const Piece& before, const DatePartInfo& info) {
    const std::string found = std::string("found \"%") + info.letter + "\" besides \"%" +
                              info_of(before.part).letter + "\" (position " +
                              std::to_string(before.place + 1) + ")";
    const bool mixed = (before.part >= DatePart::week_year) != (info.part >= DatePart::week_year);
    return mixed ? found +
                       "; allowed: %G %g %V %u (the weeks and their years) or %Y %y %m %d %j, not "
                       "both"
                 : found +
                       "; allowed: each part once, and one of %Y %y, of %G %g, of %j %m, of %j "
                       "%d";
  }

  Status read_number(std::string_view options, std::size_t begin, bool bare) {
    if (out_.radix != nullptr) return fault(begin, "found a second {number}; allowed: exactly one");
    out_.radix = Radix::find(10);
    bool has_base = false;
    bool more = !bare;
    while (more) {
      const std::size_t comma = std::min(options.find(','), options.size());
      if (Status status = read_option(options.substr(0, comma), has_base); !status.ok())
        return status;
      more = comma < options.size();
      at_ += comma + 1;
      options.remove_prefix(std::min(comma + 1, options.size()));
    }
    if (out_.width > out_.radix->longest()) {
      return fault(begin, "found the width " + std::to_string(out_.width) + "; allowed: at most " +
                              std::to_string(out_.radix->longest()) + " digits in base " +
                              std::to_string(out_.radix->base()));
    }
    out_.pieces.push_back(
        {Kind::number, "", DatePart::year, std::max<std::size_t>(out_.width, 1), begin});
    return check_scramble(begin);
  }

  Status read_key_number(std::size_t begin) {
    if (out_.tells_key) return fault(begin, "found a second {key}; allowed: at most one");
    out_.tells_key = true;
    out_.pieces.push_back({Kind::key, "", DatePart::year, 1, begin});
    return {};
  }

  Status read_option(std::string_view option, bool& has_base) {
    if (const int width = small_number(option); width > 0 && out_.width == 0) {
      out_.width = static_cast<std::size_t>(width);
      return {};
    }
    if (option == "scramble" && !out_.scramble) {
      out_.scramble = true;
      return {};
    }
    const int base = option.starts_with("base") ? small_number(option.substr(4)) : -1;
    const Radix* radix = base < 0 ? nullptr : Radix::find(static_cast<unsigned>(base));
    if (radix != nullptr && !has_base) {
      has_base = true;
      out_.radix = radix;
      return {};
    }
    return fault(at_, "found " + quoted(option) + "; allowed: a width from 1 on, base and one of " +
                          std::string(Radix::all_bases()) + ", scramble; each once");
  }

  Status check_scramble(std::size_t begin) const {
    const std::size_t least = least_scrambled_width(*out_.radix);
    if (!out_.scramble || out_.width >= least) return {};
    return fault(begin, "found scramble with " +
                            (out_.width == 0 ? std::string("no width")
                                             : "the width " + std::to_string(out_.width)) +
                            "; allowed: at least " + std::to_string(least) + " digits in base " +
                            std::to_string(out_.radix->base()) +
                            ", because fewer numbers than a million cannot be hidden");
  }

  Status read_check(std::string_view kind, std::size_t begin) {
    if (out_.check != CheckKind::none)
      return fault(begin, "found a second {check}; allowed: at most one");
    for (const CheckKind each : {CheckKind::luhn, CheckKind::damm, CheckKind::mod97}) {
      if (word_of(each) == kind) out_.check = each;
    }
    if (out_.check == CheckKind::none)
      return fault(at_, "found " + quoted(kind) + "; allowed: luhn, damm, mod97");
    if (out_.radix == nullptr)
      return fault(begin,
                   "found {check} before {number}; allowed: after it, because it is computed over "
                   "the text before");
    const unsigned base = out_.radix->base();
    if (base > 36 || (base != 10 && out_.check != CheckKind::mod97)) {
      return fault(begin, "found the check " + quoted(kind) + " of a number in base " +
                              std::to_string(base) +
                              "; allowed: luhn and damm in base 10 (they have no letters), mod97 "
                              "up to base 36 (it does not distinguish upper and lower case)");
    }
    out_.pieces.push_back({Kind::check, "", DatePart::year, check_length(out_.check), begin});
    return {};
  }

  Status check_whole() const {
    if (out_.radix == nullptr)
      return fault(text_.size(), "the end, and no {number}; allowed: exactly one");
    const auto number = std::find_if(out_.pieces.begin(), out_.pieces.end(),
                                     [](const Piece& piece) { return piece.kind == Kind::number; });
    ASSERT(number != out_.pieces.end());
    if (out_.tells_key && !out_.scramble)
      return fault(number->place, "found {key}, and a number without scramble; allowed: with it");
    const auto behind = number + 1;
    if (out_.width > 0 || behind == out_.pieces.end()) return {};
    const bool digit =
        behind->kind == Kind::date || behind->kind == Kind::key ||
        (behind->kind == Kind::literal && out_.radix->value(behind->literal[0]) >= 0);
    if (!digit) return {};
    return fault(number->place,
                 "found a number without a width before " +
                     (behind->kind == Kind::date  ? std::string("a date")
                      : behind->kind == Kind::key ? std::string("{key}")
                                                  : quoted(behind->literal.substr(0, 1))) +
                     ", so that its end cannot be determined; allowed: {number:WIDTH}, or a "
                     "character between them that is no digit of base " +
                     std::to_string(out_.radix->base()));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  IdTemplate out_;
};

}  // namespace

Result<IdTemplate> read_template(std::string_view text) {
  return Reader(text).read();
}

}  // namespace seqd

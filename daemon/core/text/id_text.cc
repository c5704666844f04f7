#include "daemon/core/text/id_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using Kind = IdTemplate::Kind;
using Piece = IdTemplate::Piece;
using Digits = std::array<std::uint8_t, Radix::kMostDigits>;

static_assert(Radix::kMostDigits <= Scramble::kMostDigits);

std::string number_text(const IdTemplate& form, std::int64_t number, const Scramble* scramble) {
  const auto value = static_cast<std::uint64_t>(number);
  Digits all{};
  const std::size_t length = std::max(form.width, form.radix->length(value));
  ASSERT(length <= all.size());
  const std::span<std::uint8_t> digits = std::span(all).first(length);
  ASSERT(form.radix->split(value, digits));
  if (scramble != nullptr) scramble->encrypt(form.radix->base(), digits);
  std::string out;
  for (const std::uint8_t digit : digits) out += form.radix->digit(digit);
  return out;
}

// A character of a text from any client.
std::string shown(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (c >= 0x20 && c <= 0x7e) return std::string("\"") + c + "\"";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("the byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

class Reader {
 public:
  Reader(const IdTemplate& form, std::string_view text, const ScrambleChoice& choose)
      : form_(form), text_(text), choose_(choose) {}

  Result<ParsedId> read() {
    if (Status status = measure(); !status.ok()) return status;
    for (const Piece& piece : form_.pieces) {
      if (Status status = read_piece(piece); !status.ok()) return status;
    }
    ASSERT(at_ == text_.size());
    if (const auto part = out_.date.impossible()) {
      return fault(places_[static_cast<std::size_t>(*part)],
                   "the " + std::string(info_of(*part).name) + " does not exist");
    }
    if (!form_.scramble) return out_;
    if (Status status = make_number(); !status.ok()) return status;
    return out_;
  }

 private:
  static Status fault(std::size_t place, const std::string& what) {
    return {ErrorCode::BAD_TEXT, "position " + std::to_string(place + 1) + ": " + what};
  }

  // Everything but the number has a fixed length: what is over is the number's.
  Status measure() {
    std::size_t fixed = 0;
    for (const Piece& piece : form_.pieces) {
      if (piece.kind != Kind::number) fixed += piece.length;
    }
    const std::size_t least = fixed + std::max<std::size_t>(form_.width, 1);
    const std::size_t most = fixed + form_.radix->longest();
    if (text_.size() < least || text_.size() > most) {
      const bool one = least == most;
      return {ErrorCode::BAD_TEXT, "the text has " + std::to_string(text_.size()) +
                                       " characters; allowed: " + std::to_string(least) +
                                       (one ? "" : " to " + std::to_string(most))};
    }
    number_length_ = text_.size() - fixed;
    ASSERT(number_length_ >= 1 && number_length_ <= digits_.size());
    return {};
  }

  Status read_piece(const Piece& piece) {
    ASSERT(at_ + (piece.kind == Kind::number ? number_length_ : piece.length) <= text_.size());
    switch (piece.kind) {
      case Kind::literal:
        return read_literal(piece.literal);
      case Kind::date:
        return read_date(info_of(piece.part));
      case Kind::number:
        return read_number();
      case Kind::key:
        return read_key();
      case Kind::check:
        break;
    }
    return read_check();
  }

  Status read_literal(std::string_view literal) {
    for (const char c : literal) {
      if (text_[at_] != c)
        return fault(at_, "found " + shown(text_[at_]) + "; allowed: " + shown(c));
      canonical_ += c;
      ++at_;
    }
    return {};
  }

  Status read_date(const DatePartInfo& info) {
    const std::size_t begin = at_;
    int value = 0;
    for (; at_ < begin + info.width; ++at_) {
      const char c = text_[at_];
      if (c < '0' || c > '9')
        return fault(at_,
                     "found " + shown(c) + "; allowed: a digit of the " + std::string(info.name));
      value = value * 10 + (c - '0');
    }
    const std::string_view digits = text_.substr(begin, info.width);
    if (value < info.lowest || value > info.highest) {
      const std::string allowed =
          padded(info.lowest, info.width) + " to " + padded(info.highest, info.width);
      return fault(begin, "found \"" + std::string(digits) + "\" for the " +
                              std::string(info.name) + "; allowed: " + allowed);
    }
    out_.date.set(info.part, value);
    places_[static_cast<std::size_t>(info.part)] = begin;
    canonical_ += digits;
    return {};
  }

  Status read_number() {
    number_at_ = at_;
    for (std::uint8_t& digit : std::span(digits_).first(number_length_)) {
      const int value = form_.radix->value(text_[at_]);
      if (value < 0) {
        return fault(at_, "found " + shown(text_[at_]) + "; allowed: a digit of the number, " +
                              std::string(form_.radix->description()));
      }
      digit = static_cast<std::uint8_t>(value);
      canonical_ += form_.radix->digit(digit);
      ++at_;
    }
    return form_.scramble ? Status() : make_number();
  }

  Status read_key() {
    const char c = text_[at_];
    if (c < '1' || c > '9')
      return fault(at_, "found " + shown(c) + "; allowed: the number of a key, 1 to 9");
    out_.key = c - '0';
    canonical_ += c;
    ++at_;
    return {};
  }

  // That of a scramble comes last, because it may depend on everything else.
  Status make_number() {
    const std::size_t begin = number_at_;
    const std::span<std::uint8_t> digits = std::span(digits_).first(number_length_);
    if (form_.scramble) {
      const std::optional<Scramble> scramble = choose_(out_);
      if (!scramble) return {ErrorCode::BAD_TEXT, "there is no key " + std::to_string(out_.key)};
      scramble->decrypt(form_.radix->base(), digits);
    }
    // More digits than the width are only there if the first is needed.
    if (number_length_ > std::max<std::size_t>(form_.width, 1) && digits[0] == 0) {
      return fault(begin, form_.scramble
                              ? "the number was not scrambled with this key, or not for this "
                                "sequence"
                              : "the number has a zero too many in front");
    }
    const std::optional<std::int64_t> number = form_.radix->join(digits);
    if (!number || *number == 0)
      return fault(begin, "the number is not within 1 to 9223372036854775807");
    out_.number = *number;
    return {};
  }

  Status read_check() {
    const std::string_view found = text_.substr(at_, check_length(form_.check));
    const std::string expected = check_digits(form_.check, canonical_);
    ASSERT(found.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found[i] == expected[i]) continue;
      return fault(at_ + i, "the check digits (" + std::string(word_of(form_.check)) +
                                ") do not match: some character of the text is wrong");
    }
    canonical_ += found;
    at_ += found.size();
    return {};
  }

  const IdTemplate& form_;
  const std::string_view text_;
  const ScrambleChoice& choose_;
  std::size_t at_ = 0;
  std::size_t number_at_ = 0;
  std::size_t number_length_ = 0;
  Digits digits_{};
  std::string canonical_;  // what was read, as write_id() writes it
  std::array<std::size_t, kDateParts> places_{};
  ParsedId out_;
};

}  // namespace

std::string write_id(const IdTemplate& form, std::int64_t number, const CivilTime& time,
                     const Scramble* scramble, int key) {
  ASSERT(number >= 1 && (scramble != nullptr) == form.scramble);
  ASSERT(form.radix != nullptr && !form.pieces.empty());
  ASSERT(!form.tells_key || (key >= 1 && key <= 9));
  std::string out;
  for (const Piece& piece : form.pieces) {
    switch (piece.kind) {
      case Kind::literal:
        out += piece.literal;
        break;
      case Kind::date:
        out += padded(value_of(piece.part, time), piece.length);
        break;
      case Kind::number:
        out += number_text(form, number, scramble);
        break;
      case Kind::key:
        out += static_cast<char>('0' + key);
        break;
      case Kind::check:
        out += check_digits(form.check, out);
        break;
    }
  }
  return out;
}

Result<ParsedId> read_id(const IdTemplate& form, std::string_view text,
                         const ScrambleChoice& choose) {
  return Reader(form, text, choose).read();
}

Result<ParsedId> read_id(const IdTemplate& form, std::string_view text, const Scramble* scramble) {
  ASSERT((scramble != nullptr) == form.scramble);
  const auto the_one = [scramble](const ParsedId& /*rest*/) {
    return scramble == nullptr ? std::nullopt : std::optional<Scramble>(*scramble);
  };
  return read_id(form, text, ScrambleChoice(the_one));
}

}  // namespace seqd

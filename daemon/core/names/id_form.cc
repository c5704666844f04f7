#include "daemon/core/names/id_form.h"

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/text/id_format.h"
#include "daemon/core/text/id_template.h"
#include "daemon/core/text/period_name.h"

namespace seqd {
namespace {

using Kind = IdTemplate::Kind;
using Piece = IdTemplate::Piece;
using Characters = std::bitset<128>;  // that may stand at one place; templates are plain ASCII

struct Form {
  std::string unit;
  std::string zone;  // empty: UTC, or it does not matter
  std::string key;
  std::string format;
  IdTemplate compiled;
};

std::optional<Form> read_form(std::string_view line) {
  Form form;
  for (std::string* word : {&form.unit, &form.key}) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    *word = line.substr(0, space);
    line.remove_prefix(space + 1);
  }
  if (const std::size_t at = form.unit.find('@'); at != std::string::npos) {
    form.zone = form.unit.substr(at + 1);
    form.unit.resize(at);
  }
  form.format = line;
  Result<IdTemplate> made = read_template(line);
  if (!made.ok()) return std::nullopt;
  form.compiled = std::move(*made);
  return form;
}

Characters digits() {
  Characters out;
  for (char c = '0'; c <= '9'; ++c) out.set(static_cast<std::size_t>(c));
  return out;
}

Characters characters_of(const Radix& radix) {
  Characters out;
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = radix.value(static_cast<char>(c)) >= 0;
  return out;
}

Characters only(char c) {
  Characters out;
  out.set(static_cast<std::size_t>(c));
  return out;
}

// What may stand at the places from one end up to those that the number always has.
std::vector<Characters> places_from(const Form& form, bool front) {
  std::vector<Piece> pieces = form.compiled.pieces;
  if (!front) std::reverse(pieces.begin(), pieces.end());
  std::vector<Characters> out;
  for (const Piece& piece : pieces) {
    if (piece.kind == Kind::literal) {
      std::string literal = piece.literal;
      if (!front) std::reverse(literal.begin(), literal.end());
      for (const char c : literal) out.push_back(only(c));
      continue;
    }
    const bool number = piece.kind == Kind::number;
    const Characters any = number                    ? characters_of(*form.compiled.radix)
                           : piece.kind == Kind::key ? only(form.key.front())
                                                     : digits();
    out.insert(out.end(), piece.length, any);
    if (number) break;  // it may be longer
  }
  return out;
}

bool differ_somewhere(const Form& a, const Form& b) {
  for (const bool front : {true, false}) {
    const std::vector<Characters> one = places_from(a, front);
    const std::vector<Characters> other = places_from(b, front);
    for (std::size_t at = 0; at < std::min(one.size(), other.size()); ++at) {
      if ((one[at] & other[at]).none()) return true;
    }
  }
  return false;
}

// How many characters stand before and behind the number.
std::pair<std::size_t, std::size_t> around_number(const IdTemplate& form) {
  std::size_t before = 0;
  std::size_t behind = 0;
  bool found = false;
  for (const Piece& piece : form.pieces) {
    if (piece.kind == Kind::number) {
      found = true;
    } else {
      (found ? behind : before) += piece.length;
    }
  }
  ASSERT(found);
  return {before, behind};
}

// The date parts and where they stand, the number's digits left out.
std::vector<std::pair<DatePart, std::size_t>> date_places(const IdTemplate& form) {
  std::vector<std::pair<DatePart, std::size_t>> out;
  std::size_t at = 0;
  for (const Piece& piece : form.pieces) {
    if (piece.kind == Kind::date) out.emplace_back(piece.part, at);
    if (piece.kind != Kind::number) at += piece.length;
  }
  return out;
}

// Whether equal texts are of the same number and, where there are periods, of the same period.
bool read_alike(const Form& a, const Form& b) {
  if (a.unit != b.unit || a.compiled.radix != b.compiled.radix ||
      a.compiled.scramble != b.compiled.scramble ||
      around_number(a.compiled) != around_number(b.compiled))
    return false;
  if (a.compiled.scramble && a.key != b.key) return false;
  return a.unit == "-" || date_places(a.compiled) == date_places(b.compiled);
}

Status may_come_again(const std::string& name, const std::string& former, const std::string& now) {
  return {ErrorCode::SEQ_CHANGED,
          "a text of \"" + name + "\" as it is written now (" + form_shown(now) +
              ") may be one that was issued before (" + form_shown(former) +
              "): configure the former format, key and period again, or a format that differs "
              "from it in a character at a place that both have, as another prefix, or give the "
              "sequence another name"};
}

}  // namespace

std::string form_of(const SequenceSettings& settings) {
  ASSERT(settings.text.compiled != nullptr);
  const PeriodRule* const rule = settings.periods.rule.get();
  std::string out = rule == nullptr ? "-" : std::string(unit_name(rule->unit()));
  if (settings.text.time_zone != "UTC" && settings.text.compiled->has_date())
    out.append("@").append(settings.text.time_zone);
  return out.append(" ")
      .append(settings.text.compiled->key_mark())
      .append(" ")
      .append(settings.text.format);
}

bool may_repeat(const std::string& former, const std::string& now) {
  if (former == now) return false;
  const std::optional<Form> a = read_form(former);
  const std::optional<Form> b = read_form(now);
  if (!a || !b) return true;
  return !differ_somewhere(*a, *b) && !read_alike(*a, *b);
}

Status check_form(const DefineName& known, const std::string& now) {
  for (const std::string& former : known.forms) {
    if (may_repeat(former, now)) return may_come_again(known.name, former, now);
  }
  return {};
}

std::string form_shown(const std::string& form) {
  const std::optional<Form> read = read_form(form);
  if (!read) return "\"" + form + "\"";
  std::string out = "\"" + read->format + "\"";
  if (read->unit != "-") out += ", a period a " + read->unit;
  if (!read->zone.empty()) out += ", time zone " + read->zone;
  if (read->key != "-") out += ", key " + read->key;
  return out;
}

Status no_format(std::string_view name, const SequenceSettings& settings) {
  const IdProgression* const progression = settings.progression.compiled.get();
  const bool low = progression != nullptr && progression->lowest() < 1;
  return {ErrorCode::CONFIG,
          "\"" + std::string(name) + "\" has no format: " +
              (low ? "its IDs may be below 1, which no format writes; take numbers with next"
                   : "it is not configured any more")};
}

}  // namespace seqd

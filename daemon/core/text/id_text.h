// Writes the number of an ID as text by a template, and reads it again. Functions without state;
// any thread.
//
// Invariant: read_id() gives the number and the date parts that write_id() was given, and of all
// texts for one number and moment it takes those only that differ from write_id()'s in what the
// base leaves open (small letters, Crockford's I L O).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/text/scramble.h"
#include "daemon/core/text/id_template.h"

namespace seqd {

struct ParsedId {
  std::int64_t number = 0;
  IdDate date;
  int key = 0;  // the number of the key, if the template has it
  bool operator==(const ParsedId&) const = default;
};

// `number` is within 1 .. 2^63-1. A number that is longer than the template's width is written in
// full. `scramble` is null unless the template needs it; `key` is its key's number, if the template
// has it.
std::string write_id(const IdTemplate& form, std::int64_t number, const CivilTime& time,
                     const Scramble* scramble, int key = 0);

// BAD_TEXT, with the position in the text, what was found and what belongs there.
Result<ParsedId> read_id(const IdTemplate& form, std::string_view text, const Scramble* scramble);
// The same where the scramble depends on the rest of the text: `choose` is given all but the
// number.
using ScrambleChoice = std::function<std::optional<Scramble>(const ParsedId&)>;
Result<ParsedId> read_id(const IdTemplate& form, std::string_view text,
                         const ScrambleChoice& choose);

}  // namespace seqd

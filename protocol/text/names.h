// What a sequence may be called: 1 .. `longest` bytes of A-Z a-z 0-9 . _ : - so that a name is safe
// in a journal field, a file name, a store's key and a shell. Pure function: any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "protocol/errors.h"
#include "protocol/limits.h"

namespace seqd::protocol {

struct NameProblem {
  ErrorCode code;         // BAD_REQUEST, or TOO_LARGE for one that is too long
  std::string_view text;  // lives for ever; what is allowed
};

// Nothing when `name` is a legal sequence name. `longest` is the configured limit, at most
// kNameLimit.max.
std::optional<NameProblem> check_sequence_name(
    std::string_view name, std::size_t longest = static_cast<std::size_t>(kNameLimit.max));

// The same for a name that may have a period behind it, "orders@2026-11-22": it may be queried, but
// IDs cannot be taken of it.
std::optional<NameProblem> check_name_with_period(
    std::string_view name, std::size_t longest = static_cast<std::size_t>(kNameLimit.max));

}  // namespace seqd::protocol

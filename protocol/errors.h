// The one list of errors seqd knows, on the wire and inside the daemon. The list itself is
// errors.def; this header makes the enum and the look-ups of it. Pure data: any thread, no
// ownership.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace seqd {

enum class ErrorCode : std::uint8_t {
  OK = 0,
#define X(code, fault, retry, meaning) code,
#include "protocol/errors.def"
#undef X
};

// Which side caused an error. The values are the ones on the wire.
enum class Fault : std::uint8_t { daemon = 0, caller = 1 };

// Whether the same request may succeed later with nothing changed.
enum class Retry : std::uint8_t { never, again };

struct ErrorInfo {
  ErrorCode code;
  Fault fault;
  Retry retry;
  std::string_view name;     // as on the wire, "NO_SEQUENCE"
  std::string_view meaning;  // one sentence for people
};

// The catalogue's entry. `code` must not be OK.
const ErrorInfo& error_info(ErrorCode code);

// The code as it stands on the wire; "OK" for OK.
std::string_view error_name(ErrorCode code);

// Finds a known code in an error text of a reply, wherever it stands in it: some clients put words
// of their own in front. The code counts only as a whole word followed by a colon. Nothing when
// there is none.
std::optional<ErrorCode> find_error_code(std::string_view text);

}  // namespace seqd

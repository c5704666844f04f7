// Outcome: how the engine of libseqd reports errors: a code of seqd.h and a text. The codes of the
// daemon's catalogue are minus its enumeration values, so the order in errors.def is part of the
// ABI. Values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "client-lib/seqd.h"
#include "protocol/errors.h"

namespace seqd::engine {

struct [[nodiscard]] Outcome {
  int code = SEQD_OK;
  std::string text;

  bool ok() const { return code == SEQD_OK; }
};

// The number in seqd.h of a code of the catalogue.
constexpr int result_code(ErrorCode code) {
  return -static_cast<int>(code);
}

// "NO_SEQUENCE", "CONNECT", "OK"; "UNKNOWN" for a number that is no code. Ends with a zero byte.
const char* code_name(int code);

// Whether the same request may succeed later with nothing changed.
bool is_transient(int code);

}  // namespace seqd::engine

#include "client-lib/session/outcome.h"

namespace seqd::engine {
namespace {

// Each number of seqd.h against the catalogue: a line moved in errors.def does not compile.
#define X(code, fault, retry, meaning) static_assert(SEQD_E_##code == result_code(ErrorCode::code));
#include "protocol/errors.def"
#undef X

// How many codes the catalogue has.
constexpr int kCatalogueSize = 0
#define X(code, fault, retry, meaning) +1
#include "protocol/errors.def"
#undef X
    ;

bool is_of_catalogue(int code) {
  return code < 0 && code >= -kCatalogueSize;
}

}  // namespace

const char* code_name(int code) {
  // The names of the catalogue come from string literals, so they end with a zero byte.
  if (is_of_catalogue(code)) return error_name(static_cast<ErrorCode>(-code)).data();
  switch (code) {
    case SEQD_OK:
      return "OK";
    case SEQD_E_CONNECT:
      return "CONNECT";
    case SEQD_E_TIMEOUT:
      return "TIMEOUT";
    case SEQD_E_PROTOCOL:
      return "PROTOCOL";
    case SEQD_E_ARGUMENT:
      return "ARGUMENT";
    case SEQD_E_MEMORY:
      return "MEMORY";
    case SEQD_E_FORKED:
      return "FORKED";
    case SEQD_E_FULL:
      return "FULL";
    case SEQD_E_SYSTEM:
      return "SYSTEM";
    default:
      return "UNKNOWN";
  }
}

bool is_transient(int code) {
  if (is_of_catalogue(code)) return error_info(static_cast<ErrorCode>(-code)).retry == Retry::again;
  return code == SEQD_E_CONNECT || code == SEQD_E_TIMEOUT || code == SEQD_E_FULL;
}

}  // namespace seqd::engine

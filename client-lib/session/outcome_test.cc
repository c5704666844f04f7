#include "client-lib/session/outcome.h"

#include <catch2/catch.hpp>
#include <string>

namespace seqd::engine {

TEST_CASE("EveryCodeHasItsNameAndOthersAreUnknown", "[client]") {
  CHECK(std::string(code_name(SEQD_OK)) == "OK");
  CHECK(std::string(code_name(SEQD_E_BAD_REQUEST)) == "BAD_REQUEST");
  CHECK(std::string(code_name(SEQD_E_INTERNAL)) == "INTERNAL");
  CHECK(std::string(code_name(SEQD_E_CONNECT)) == "CONNECT");
  CHECK(std::string(code_name(SEQD_E_SYSTEM)) == "SYSTEM");
  for (const int code : {1, -100, -1000, -1010, -2147483647})
    CHECK(std::string(code_name(code)) == "UNKNOWN");
}

TEST_CASE("TransientCodesAreThoseWorthARepeat", "[client]") {
  for (const int code : std::initializer_list<int>{SEQD_E_BUSY, SEQD_E_UNAVAILABLE, SEQD_E_STOPPING,
                                                   SEQD_E_CONNECT, SEQD_E_TIMEOUT, SEQD_E_FULL})
    CHECK(is_transient(code));
  for (const int code :
       std::initializer_list<int>{SEQD_OK, SEQD_E_BAD_REQUEST, SEQD_E_EXHAUSTED, SEQD_E_INTERNAL,
                                  SEQD_E_PROTOCOL, SEQD_E_ARGUMENT, SEQD_E_UNKNOWN, 1, -100})
    CHECK_FALSE(is_transient(code));
}

}  // namespace seqd::engine

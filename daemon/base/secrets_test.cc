#include "daemon/base/secrets.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AnAddressIsMaskedWhateverItsForm", "[secrets]") {
  CHECK(masked_address("mongodb://h/") == "mongodb://h/");
  CHECK(masked_address("mongodb://h1:27017,[::1]:27018,h3/db?a=b") ==
        "mongodb://h1:27017,[::1]:27018,h3/db");
  CHECK(masked_address("mongodb://%2Ftmp%2Fmongodb.sock/db") ==
        "mongodb://%2Ftmp%2Fmongodb.sock/db");
  CHECK(masked_address("mongodb+srv://u:p@ss@h") == "mongodb+srv://***@h");
  CHECK(masked_address("mongodb://u:p/w?x@h/db?a=b") == "mongodb://***@h/db");
  CHECK(masked_address("mongodb://h/?user=a@secret") == "mongodb://***@secret");
  // The host was forgotten, so a part of the password may stand in its place.
  CHECK(masked_address("mongodb://admin:hunter2") == "mongodb://***");
  CHECK(masked_address("mongodb://admin:hun/ter2?w=1") == "mongodb://***");
  CHECK(masked_address("mongodb://h1:27017,admin:hunter2/db") == "mongodb://***");
  for (const char* none : {"", "hunter2", "u:p@h", "mongodb:/u:p@h"})
    CHECK(masked_address(none) == "***");
}

TEST_CASE("KnownSecretsAreHiddenWhereverTheyStand", "[secrets]") {
  CHECK(hide("a hunter2 and hunter2b", {"hunter2", "hunter2b"}) == "a *** and ***");
  CHECK(hide("nothing", {"", "x"}) == "nothing");
  CHECK(hide("aaa", {"a"}) == "*********");
  CHECK(hide("***", {"*"}).size() == 9);
}

TEST_CASE("PercentCodesAreDecodedAndOthersStay", "[secrets]") {
  CHECK(percent_decoded("a%40b%3a%2F") == "a@b:/");
  CHECK(percent_decoded("100%, %4, %zz, %") == "100%, %4, %zz, %");
}

}  // namespace
}  // namespace seqd

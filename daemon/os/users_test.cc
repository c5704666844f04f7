#include "daemon/os/users.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("UsersAndGroupsAreFoundByNameAndByNumber", "[os]") {
  CHECK(find_user("root").value() == 0);
  CHECK(find_group("root").value() == 0);
  CHECK(find_user("4711").value() == 4'711);
  CHECK(find_group("4711").value() == 4'711);
}

TEST_CASE("AUserThatDoesNotExistIsAnError", "[os]") {
  CHECK(find_user("no-such-user").status().text() == "there is no such user");
  CHECK(find_group("no-such-group").status().text() == "there is no such group");
  CHECK(find_user("").status().code() == ErrorCode::CONFIG);
  for (const char* name : {"4294967295", "4294967296", "99999999999999999999"}) {
    CHECK(find_user(name).status().code() == ErrorCode::CONFIG);
    CHECK(find_group(name).status().code() == ErrorCode::CONFIG);
  }
}

}  // namespace
}  // namespace seqd

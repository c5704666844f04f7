// Pages and their index over restarts, and where somebody has removed them.
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/os/shared_pages.h"
#include "protocol/block_slot.h"
#include "tests/adapters/page_test.h"

namespace seqd {
namespace {

using protocol::BlockSlot;
using protocol::kBlockPageBytes;
using testing::in_child;
using testing::is_there;
using testing::PageTest;
using Client = testing::PageClient;
using Taken = std::optional<std::int64_t>;

const UserId kUser = ::geteuid();

TEST_CASE("ARestartFindsThePagesThatItIsToKeep", "[pages]") {
  PageTest test;
  for (const ClientId client : {ClientId{7}, ClientId{8}}) {
    REQUIRE(test.pages->open(client, kUser).ok());
    REQUIRE(test.pages->publish({client, 1, 100, 64}).ok());
    Client(test, client).slot(1).taken = 9;
  }
  const auto kept = test.pages->address(7).key;
  const auto other = test.pages->address(8).key;
  test.restart({7});
  CHECK(test.revoke({7, 1, 100, 64}) == Taken(9));
  CHECK_FALSE(is_there(other));
  // The client asks for its page again: it is the same one.
  REQUIRE(test.pages->open(7, kUser).ok());
  CHECK(test.pages->address(7).key == kept);
  test.pages->remove(7);
  CHECK_FALSE(is_there(kept));
}

TEST_CASE("AnIndexThatWasRemovedIsMadeAgain", "[pages]") {
  PageTest test;
  for (const ClientId client : {ClientId{7}, ClientId{8}, ClientId{9}}) {
    REQUIRE(test.pages->open(client, kUser).ok());
    REQUIRE(test.pages->publish({client, 1, 100, 64}).ok());
    Client(test, client).slot(1).taken = 9;
  }
  test.pages->remove(8);
  const PageAddress kept = test.pages->address(9);
  CHECK_FALSE(*test.pages->keep_index());
  REQUIRE(std::filesystem::remove(test.root + "/pages"));
  SECTION("and nothing is there") {}
  SECTION("and another is there") {
    const auto other = test.place->map("pages", SharedPages::kIndexBytes);
    REQUIRE(other.ok());
    std::fill((*other)->bytes().begin(), (*other)->bytes().end(), std::uint8_t{0x11});
  }
  CHECK(*test.pages->keep_index());
  CHECK_FALSE(*test.pages->keep_index());
  CHECK(test.pages->address(9).key == kept.key);
  REQUIRE(test.pages->open(8, kUser).ok());
  test.restart({7, 8, 9});
  for (const ClientId client : {ClientId{7}, ClientId{9}})
    CHECK(test.revoke({client, 1, 100, 64}) == Taken(9));
  CHECK_FALSE(test.pages->is_lost(8));
  CHECK(test.pages->address(9).key == kept.key);
}

TEST_CASE("AnIndexThatCannotBeMadeAgainIsAnError", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  REQUIRE(std::filesystem::remove(test.root + "/pages"));
  REQUIRE(std::filesystem::create_directory(test.root + "/pages"));
  CHECK_FALSE(test.pages->keep_index().ok());
  REQUIRE(std::filesystem::remove(test.root + "/pages"));
  CHECK(*test.pages->keep_index());
}

// In another one nobody would find what was taken.
TEST_CASE("APageThatWasRemovedIsNotReplacedWhileItsBlocksAreOut", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  const BlockPlace block{7, 1, 100, 64};
  REQUIRE(test.pages->publish(block).ok());
  const auto key = test.pages->address(7).key;
  int another = -1;
  {
    const Client client(test, 7);
    REQUIRE(::shmctl(client.id(), IPC_RMID, nullptr) == 0);
  }
  // This process still has it.
  CHECK(test.revoke(block) == Taken(0));
  test.pages.reset();
  SECTION("by nothing") {}
  SECTION("by memory of another size with its key") {
    another = ::shmget(key, kBlockPageBytes + 1, IPC_CREAT | IPC_EXCL | 0600);
    REQUIRE(another >= 0);
  }
  SECTION("by memory that another user made and gave away") {
    if (kUser != 0) return;
    REQUIRE(in_child([&] {
              if (::setresuid(65'533, 65'533, 65'533) != 0) return 1;
              const int id = ::shmget(key, kBlockPageBytes, IPC_CREAT | IPC_EXCL | 0600);
              shmid_ds facts{};
              facts.shm_perm.uid = kUser;
              facts.shm_perm.mode = 0600;
              return id >= 0 && ::shmctl(id, IPC_SET, &facts) == 0 ? 0 : 2;
            }) == 0);
    another = ::shmget(key, 0, 0);
    REQUIRE(another >= 0);
  }
  test.begin();
  test.pages->keep_only({7, 8});
  CHECK(test.pages->is_lost(7));
  CHECK(test.pages->open(7, kUser).code() == ErrorCode::UNAVAILABLE);
  CHECK(test.revoke(block) == std::nullopt);
  // What is not ours is left where it is.
  if (another >= 0) CHECK(::shmctl(another, IPC_RMID, nullptr) == 0);
  test.pages->remove(7);
  CHECK_FALSE(test.pages->is_lost(7));
  CHECK(test.pages->open(7, kUser).to_string() == "OK");
}

TEST_CASE("ARemovedPageIsUsedUpByItsClient", "[pages]") {
  PageTest test;
  REQUIRE(test.pages->open(7, kUser).ok());
  REQUIRE(test.pages->publish({7, 1, 100, 64}).ok());
  const Client client(test, 7);
  test.pages->remove(7);
  CHECK_FALSE(is_there(client.key));
  CHECK(client.slot(1).limit == 64);
}

}  // namespace
}  // namespace seqd

// PageTest: pages of blocks on real segments, with their index in a directory on a tmpfs, which
// goes with it; restart() is another process. One thread.
#pragma once

#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "client-lib/blocks/block_page.h"
#include "daemon/os/files/posix_files.h"
#include "daemon/os/shared_pages.h"
#include "daemon/os/system_random.h"
#include "protocol/block_slot.h"

namespace seqd::testing {

struct PageTest {
  PageTest() {
    REQUIRE(mkdtemp(root.data()) != nullptr);
    auto opened = open_directory(root);
    REQUIRE(opened.ok());
    place = std::move(*opened);
    begin();
  }
  ~PageTest() {
    restart({});
    std::filesystem::remove_all(root);
  }
  PageTest(const PageTest&) = delete;
  PageTest& operator=(const PageTest&) = delete;

  void begin() {
    auto mapped = place->map("pages", SharedPages::kIndexBytes);
    REQUIRE(mapped.status().to_string() == "OK");
    pages = std::make_unique<SharedPages>(std::move(*mapped), random, *place, "pages");
  }
  void restart(const std::set<ClientId>& kept) {
    pages.reset();
    begin();
    pages->keep_only(kept);
  }
  std::optional<std::int64_t> revoke(const BlockPlace& block) const {
    return pages->revoke({&block, 1}).at(0);
  }
  // As a client hears of it from a daemon of this user.
  engine::PageInfo page_info(ClientId client) const {
    const PageAddress address = pages->address(client);
    return {protocol::kBlockSlots, protocol::kBlockSlotBytes, address.key, address.maker,
            ::geteuid()};
  }

  std::string root = "/dev/shm/seqd-test-XXXXXX";
  SystemRandom random;
  std::unique_ptr<Directory> place;
  std::unique_ptr<SharedPages> pages;
};

// The client's side: the page, as its library attaches it.
struct PageClient {
  PageClient(const PageTest& test, ClientId client) : key(test.pages->address(client).key) {
    REQUIRE(engine::BlockPage::attach(test.page_info(client), page).ok());
  }
  protocol::BlockSlot& slot(std::uint32_t number) const { return page->slot(number); }
  int id() const { return ::shmget(key, 0, 0); }
  std::int32_t key;
  std::shared_ptr<engine::BlockPage> page;
};

inline bool is_there(std::int32_t key) {
  return ::shmget(key, 0, 0) >= 0;
}

// What `work` gives in a process of its own.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace seqd::testing

// PageTest: pages of blocks on real segments, with their index in a directory on a tmpfs, which
// goes with it; restart() is another process. One thread.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
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
  engine::BlockPage::Told told(ClientId client) const {
    const PageAddress address = pages->address(client);
    return {protocol::kBlockSlots, protocol::kBlockSlotBytes, address.key, address.maker,
            ::geteuid()};
  }

  std::string root = "/dev/shm/seqd-test-XXXXXX";
  SystemRandom random;
  std::unique_ptr<Directory> place;
  std::unique_ptr<SharedPages> pages;
};

}  // namespace seqd::testing

// BlockPages: the pages from which clients take the IDs of their blocks: one for each client, with
// numbered slots (protocol/block_slot.h). A page outlives the client and the daemon, not a reboot.
// Loop thread; calls are short and never wait.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/user_id.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

// A block in its slot. If the slot names another block, this one was never published.
struct BlockPlace {
  ClientId client = 0;
  std::uint32_t slot = 0;
  std::uint32_t block = 0;  // the request that it was granted to
  std::int64_t count = 0;   // IDs
};

// How a client finds its page: its key, for shmget(2), and the user that created it, by which the
// client verifies it.
struct PageAddress {
  std::int32_t key = 0;
  UserId maker = 0;
};

class BlockPages {
 public:
  static constexpr std::int64_t kMost = 1'024;  // open at a time

  virtual ~BlockPages() = default;
  // Creates the page of a client, or finds the existing one; only this user may attach it.
  // UNAVAILABLE: this host has no place for pages. BUSY: too many are open.
  virtual Status open(ClientId client, UserId user) = 0;
  // Of a page that is open.
  virtual PageAddress address(ClientId client) const = 0;
  // Opens the block to its client, by writing it to the slot. After an error the contents of the
  // slot are unknown.
  virtual Status publish(const BlockPlace& place) = 0;
  // Ends these blocks: no more IDs are taken. For each, how many IDs were taken; none if that is
  // not known, because the page is missing or damaged.
  virtual std::vector<std::optional<std::int64_t>> revoke(std::span<const BlockPlace> places) = 0;
  // Removes the page of a client without blocks; the client may have another one then.
  virtual void remove(ClientId client) = 0;
  // Removes the pages of an earlier daemon, except those of these clients.
  virtual void keep_only(const std::set<ClientId>& clients) = 0;
  // Whether keep_only() did not find the page of that client. It stays lost until it is removed.
  virtual bool is_lost(ClientId client) const = 0;
};

}  // namespace seqd

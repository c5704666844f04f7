// BlockPages: where clients take the IDs of their blocks: one page for each client, with numbered
// slots (protocol/block_slot.h). It outlives the client and the daemon, and ends with the machine.
// Loop thread; calls are short and never wait.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/base/user_id.h"
#include "daemon/core/log/log_types.h"

namespace seqd {

// A block in its slot. A slot that names another block was never told of this one.
struct BlockPlace {
  ClientId client = 0;
  std::uint32_t slot = 0;
  std::uint32_t block = 0;  // the request that it was granted to
  std::int64_t count = 0;   // IDs
};

// How a client finds its page: its key, for shmget(2), and the user who made it, by which the
// client knows it from another's.
struct PageAddress {
  std::int32_t key = 0;
  UserId maker = 0;
};

class BlockPages {
 public:
  static constexpr std::int64_t kMost = 1'024;  // open at a time

  virtual ~BlockPages() = default;
  // Makes the page of a client, or finds it again; no other user than this one may attach it.
  // UNAVAILABLE: there is no place for pages here. BUSY: there are too many.
  virtual Status open(ClientId client, UserId user) = 0;
  // Of a page that is open.
  virtual PageAddress address(ClientId client) const = 0;
  // Tells the client's slot that the block may be taken from. After an error nobody knows what the
  // slot says.
  virtual Status publish(const BlockPlace& place) = 0;
  // Ends these blocks: no more IDs are taken. For each, how many IDs were taken; none where
  // that is not known: the page is gone, or says what cannot be.
  virtual std::vector<std::optional<std::int64_t>> revoke(std::span<const BlockPlace> places) = 0;
  // The client has no block any more: its page goes.
  virtual void remove(ClientId client) = 0;
  // Removes what an earlier daemon left for other clients than these.
  virtual void keep_only(const std::set<ClientId>& clients) = 0;
};

}  // namespace seqd

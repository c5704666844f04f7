// BlockTable: the blocks that are out, by their slots. A block is granted in one turn, published to
// its page when the turn's record is in the log, and only then in the reply to its client. It ends
// when its slot is used again, when its client has disconnected, or when its sequence needs the
// IDs: then nothing is taken from it any more, and its sequence gets the number of IDs that were
// taken.
//
// A block without a page has a slot behind those of a page. Only its client knows how many IDs are
// taken, and says so once (end_told). Where the daemon has to end it, or its client does not come
// back, all of it is a gap: the client may go on with it.
//
// Bounded: a number of blocks and pages in all, of which one user gets a share. After a start, and
// without a page after a connection's end, clients have some seconds to reconnect to their blocks.
// Owned by the SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/peer.h"
#include "daemon/core/blocks/block.h"
#include "daemon/core/blocks/block_pages.h"
#include "daemon/core/caller.h"
#include "daemon/core/context.h"
#include "daemon/core/log/state_image.h"

namespace seqd {

class BlockTable {
 public:
  // A block has ended, and left the table. `taken`: so many IDs of it; none: not known. Several:
  // those of one lease without a page that follow each other, the highest first, of which nothing
  // is known: one gap.
  using Over = std::function<void(std::span<const Block> ended, std::optional<std::int64_t> taken)>;
  static constexpr std::int64_t kMost = 4'096;
  // Without a page, of one client.
  static constexpr std::uint32_t kMostWithoutPage = 64;
  // How long a client may take to reconnect.
  static constexpr std::int64_t kReturnMs = 10'000;

  // `pages` may be null: then there are no blocks. All outlive this.
  BlockTable(const CoreContext& context, Over over, BlockPages* pages, std::int64_t most);

  bool empty() const { return blocks_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t ids() const { return ids_; }  // of all of them, taken or not
  std::int64_t size_of(SequenceId sequence) const;
  bool has_blocks(ClientId client) const;
  const Block* in_slot(ClientId client, std::uint32_t slot) const;        // null: it is free
  const Block* granted_to(ClientId client, std::uint32_t request) const;  // null: none is out
  // Whether the block of that request ended with a page that was lost at the start. The page, which
  // its client may still have, names it: no other may be granted to that request.
  bool was_lost(ClientId client, std::uint32_t request) const;
  const Block* with_id(SequenceId sequence, std::int64_t id) const;  // the same
  std::vector<const Block*> of(SequenceId sequence) const;           // in the order of their slots
  std::int64_t visits() const { return visits_; }  // how many of() has returned: what walks cost

  // Whether another block may be granted to a client of that user, with the page that it needs.
  // UNAVAILABLE, BUSY.
  Status may_grant(ClientId client, UserId user);
  // The same for a block without a page, and the slot of it. BUSY.
  Result<std::uint32_t> free_slot(ClientId client, UserId user) const;
  // Where the client's page is, which is made where there is none. UNAVAILABLE, BUSY.
  Result<PageAddress> open_page(ClientId client, UserId user);
  // Adds a block that is in the log.
  void add(const Block& block);
  // Publishes the blocks of this turn, and removes the pages closed in it; its record is written.
  void publish() {
    if (!unpublished_.empty() || !pages_left_.empty()) tell_pages();
  }

  void end_slot(ClientId client, std::uint32_t slot);  // nothing where it is free
  // A block without a page that is out, of which its client has taken 0 .. size() IDs.
  void end_told(BlockKey key, std::int64_t taken);
  void end_client(ClientId client);  // removes its page
  // Its connection has ended: the same, but it may come back to the blocks without a page.
  void client_left(ClientId client, const Peer& peer);
  void end_sequence(SequenceId sequence);
  void end_pages(SequenceId sequence);  // the blocks in pages: what is not taken is available
  void end_outside(SequenceId sequence, std::int64_t floor, std::int64_t last);
  void end_all_pages();  // at a stop; the blocks without a page stay out
  // Ends the blocks for which this is true, of all clients or of one.
  void end_where(const std::function<bool(const Block&)>& over);
  bool end_where(ClientId client, const std::function<bool(const Block&)>& over);  // any

  // Restores the blocks that an earlier process granted, and their pages. Then, once: waits for
  // their clients to reconnect.
  void restore(const StateImage& image);
  void await_clients();
  // A client has identified itself, on that connection. Where its page is lost, its blocks end as
  // gaps, and it may open another page.
  void client_back(ClientId client, SessionId session);
  // The process that had the client's last connection, while it may come back; null: not known.
  const Peer* left_by(ClientId client) const;

 private:
  using Blocks = std::map<BlockKey, Block>;

  struct Absent {
    std::int64_t until_ms = 0;  // on the monotonic clock
    std::optional<Peer> peer;   // none: it was connected to an earlier daemon
  };

  void insert(const Block& block);
  void end_page(ClientId client);
  void end_clients(std::span<const ClientId> clients);
  void note_lost(ClientId client);
  void close_page(ClientId client);
  void add_absent(ClientId client, std::optional<Peer> peer);
  void remove_absent(ClientId client);
  void watch_absent();
  Status within_share(UserId user) const;
  std::set<std::uint32_t> requests_of(ClientId client) const;
  void count_page(ClientId client, UserId user);
  Block remove(BlockKey key);
  void end(const std::vector<BlockKey>& keys);
  void tell_pages();
  void end_lost();
  void end_absent();

  Clock& clock_;
  const Over over_;
  BlockPages* const pages_;
  Blocks blocks_;
  std::int64_t ids_ = 0;
  mutable std::int64_t visits_ = 0;
  std::map<SequenceId, std::set<BlockKey>> by_sequence_;
  FairShare share_;
  std::map<ClientId, UserId> page_users_;  // of the pages that are open
  std::set<ClientId> pages_left_;          // that were closed in this turn
  FairShare page_share_;
  std::vector<BlockKey> unpublished_;  // granted in this turn
  std::vector<BlockKey> lost_;         // that could not be published to their pages
  std::map<ClientId, Absent> absent_;  // which have blocks, and no connection
  std::set<std::pair<std::int64_t, ClientId>> absent_until_;
  // What was_lost() tells, until the client's connection ends: at most the blocks of the start.
  std::map<ClientId, std::set<std::uint32_t>> lost_requests_;
  OneShot timer_;             // for those who are absent
  bool stood_still_ = false;  // it was late, and was started once more
  OneShot lost_timer_;
};

}  // namespace seqd

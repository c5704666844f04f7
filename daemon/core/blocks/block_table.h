// BlockTable: the blocks that are out, by their slots. A block is granted in one turn, published to
// its page when the turn's record is in the log, and only then in the reply to its client.
//
// How a block ends, and where that is decided:
//
//   end_slot       its slot is requested again (block_methods.cc)
//                  it could not be published to its page (here)
//   end_client     the connection of its client ends (Server::close)
//                  another process or user takes its client's identity (client_methods.cc)
//                  the page of its client was lost at a start (client_back)
//                  its client has not reconnected within kReturnMs of a start (here)
//   end_where      its user may not take these IDs any more (Server::apply_settings, at a reload)
//   end_some       the same, when its client is back after a start; or its client is another
//                  user's now (client_methods.cc)
//   end_sequence   its sequence needs the IDs, is drained or stopped (SequenceBlocks::end_all)
//   end_outside    it has IDs below the floor or above the maximum (Sequence::withdraw)
//   end_all        the daemon stops (SequenceTable::begin_stop)
//
// In each case its slot is closed to its client, and Over, which is Sequence::block_over(), records
// how many IDs were taken (entry BlockEnded). The others are available again; if it is not known
// how many were taken, all of the block is a gap (block_lost). Before all that a start that cannot
// continue where the log ends makes gaps of the blocks that were out (start_rules.cc).
//
// Bounded: a number of blocks and pages in all, of which one user gets a share. Owned by the
// SequenceTable; loop thread.
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
#include "daemon/core/blocks/block.h"
#include "daemon/core/blocks/block_pages.h"
#include "daemon/core/context/core_context.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/words/caller.h"

namespace seqd {

class BlockTable {
 public:
  // `block` has ended, and left the table. `taken`: so many IDs of it; none: not known.
  using Over = std::function<void(const Block& block, std::optional<std::int64_t> taken)>;
  static constexpr std::int64_t kMost = 4'096;
  // How long a client may take to reconnect after a start.
  static constexpr std::int64_t kReturnMs = 10'000;

  // `pages` may be null: then there are no blocks. All outlive this.
  BlockTable(const CoreContext& context, Over over, BlockPages* pages, std::int64_t most);

  bool empty() const { return blocks_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t ids() const { return ids_; }  // of all of them, taken or not
  std::int64_t size_of(SequenceId sequence) const;
  const Block* in_slot(ClientId client, std::uint32_t slot) const;        // null: it is free
  const Block* granted_to(ClientId client, std::uint32_t request) const;  // null: none is out
  // Whether the block of that request ended with a page that was lost at the start. The page, which
  // its client may still have, names it: no other may be granted to that request.
  bool was_lost(ClientId client, std::uint32_t request) const;
  const Block* with_id(SequenceId sequence, std::int64_t id) const;  // null: none is out
  std::vector<const Block*> of(SequenceId sequence) const;           // in the order of their slots
  // For tests: how many of() has returned, which is what walks cost.
  std::int64_t visits() const { return visits_; }

  // Whether another block may be granted to a client of that user; makes the page that it needs.
  // UNAVAILABLE, BUSY.
  Status prepare_grant(ClientId client, UserId user);
  // Where the client's page is, which is made where there is none. UNAVAILABLE, BUSY.
  Result<PageAddress> open_page(ClientId client, UserId user);
  // Adds a block that is in the log.
  void add(const Block& block);
  // Publishes the blocks of this turn, and removes the pages closed in it; its record is written.
  void publish() {
    if (!unpublished_.empty() || !closed_pages_.empty()) update_pages();
  }

  void end_slot(ClientId client, std::uint32_t slot);  // nothing where it is free
  void end_client(ClientId client);                    // after its connection; removes its page
  void end_sequence(SequenceId sequence);
  void end_outside(SequenceId sequence, std::int64_t floor, std::int64_t last);
  void end_all();
  // Ends the blocks for which this is true.
  void end_where(const std::function<bool(const Block&)>& over);
  // True: one of the client's has ended.
  bool end_some(ClientId client, const std::function<bool(const Block&)>& over);

  // Once: restores the blocks that an earlier process granted, and their pages; waits for their
  // clients to reconnect.
  void restore(const StateImage& image);
  // A client has identified itself, on that connection. Where its page is lost, its blocks end as
  // gaps, and it may open another page.
  void client_back(ClientId client, SessionId session);

 private:
  using Blocks = std::map<BlockKey, Block>;

  void insert(const Block& block);
  void end_clients(std::span<const ClientId> clients);
  void note_lost(ClientId client);
  void close_page(ClientId client);
  std::set<std::uint32_t> requests_of(ClientId client) const;
  void count_page(ClientId client, UserId user);
  Block remove(BlockKey key);
  void end(const std::vector<BlockKey>& keys);
  void update_pages();
  void end_failed();
  void end_absent();

  const Over over_;
  BlockPages* const pages_;
  Blocks blocks_;
  std::int64_t ids_ = 0;
  mutable std::int64_t visits_ = 0;
  std::map<SequenceId, std::set<BlockKey>> by_sequence_;
  FairShare share_;
  std::map<ClientId, UserId> page_users_;  // of the pages that are open
  std::set<ClientId> closed_pages_;        // that were closed in this turn
  FairShare page_share_;
  std::vector<BlockKey> unpublished_;     // granted in this turn
  std::vector<BlockKey> publish_failed_;  // that could not be published to their pages
  std::set<ClientId> absent_;             // since the start
  // What was_lost() returns, until the client's connection ends: at most the blocks of the start.
  std::map<ClientId, std::set<std::uint32_t>> lost_requests_;
  OneShot absent_timer_;  // ends the blocks of clients that did not reconnect
  OneShot failed_timer_;
};

}  // namespace seqd

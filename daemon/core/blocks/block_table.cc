#include "daemon/core/blocks/block_table.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// One user alone may have three quarters of all blocks, and of all pages.
constexpr std::int64_t kFactor = 3;
// So late the daemon stood still (its disk hung, it was stopped), and a hello may wait in a socket.
constexpr std::int64_t kLateMs = 1'000;

// Whether the block below that one is part of the same gap, where neither is told.
bool continues_gap(const Block& block, const Block& below) {
  return !block.has_page() && !below.has_page() && block.lease == below.lease &&
         block.granted.sequence == below.granted.sequence &&
         block.granted.begin == below.granted.end;
}

BlockPlace place_of(const Block& block) {
  return {block.granted.client, block.granted.slot, block.granted.request, block.size()};
}

}  // namespace

BlockTable::BlockTable(const CoreContext& context, Over over, BlockPages* pages, std::int64_t most)
    : clock_(context.clock),
      over_(std::move(over)),
      pages_(pages),
      share_(most, kFactor),
      page_share_(BlockPages::kMost, kFactor),
      timer_(context.timers),
      lost_timer_(context.timers) {}

// --- what is out

std::int64_t BlockTable::size_of(SequenceId sequence) const {
  const auto found = by_sequence_.find(sequence);
  return found == by_sequence_.end() ? 0 : static_cast<std::int64_t>(found->second.size());
}

const Block* BlockTable::in_slot(ClientId client, std::uint32_t slot) const {
  const auto found = blocks_.find({client, slot});
  return found == blocks_.end() ? nullptr : &found->second;
}

const Block* BlockTable::granted_to(ClientId client, std::uint32_t request) const {
  for (auto at = blocks_.lower_bound({client, 0}); at != blocks_.end(); ++at) {
    if (at->first.first != client) break;
    if (at->second.granted.request == request) return &at->second;
  }
  return nullptr;
}

bool BlockTable::was_lost(ClientId client, std::uint32_t request) const {
  const auto found = lost_requests_.find(client);
  return found != lost_requests_.end() && found->second.contains(request);
}

std::set<std::uint32_t> BlockTable::requests_of(ClientId client) const {
  std::set<std::uint32_t> requests;
  for (auto at = blocks_.lower_bound({client, 0}); at != blocks_.end(); ++at) {
    if (at->first.first != client) break;
    if (at->second.has_page()) requests.insert(at->second.granted.request);
  }
  return requests;
}

const Block* BlockTable::with_id(SequenceId sequence, std::int64_t id) const {
  for (const Block* block : of(sequence)) {
    if (block->granted.begin <= id && id < block->granted.end) return block;
  }
  return nullptr;
}

std::vector<const Block*> BlockTable::of(SequenceId sequence) const {
  std::vector<const Block*> blocks;
  const auto found = by_sequence_.find(sequence);
  if (found == by_sequence_.end()) return blocks;
  for (const BlockKey& key : found->second) blocks.push_back(&blocks_.at(key));
  visits_ += static_cast<std::int64_t>(blocks.size());
  return blocks;
}

void BlockTable::insert(const Block& block) {
  const bool fresh = blocks_.emplace(block.key(), block).second;
  ASSERT(fresh && block.granted.client != 0 && block.size() > 0);
  ids_ += block.size();
  by_sequence_[block.granted.sequence].insert(block.key());
  share_.take(block.user, 1);
}

Block BlockTable::remove(BlockKey key) {
  const auto found = blocks_.find(key);
  ASSERT(found != blocks_.end());
  const Block block = found->second;
  blocks_.erase(found);
  ids_ -= block.size();
  const auto of = by_sequence_.find(block.granted.sequence);
  of->second.erase(key);
  if (of->second.empty()) by_sequence_.erase(of);
  share_.release(block.user, 1);
  return block;
}

// --- grants

void BlockTable::count_page(ClientId client, UserId user) {
  if (page_users_.emplace(client, user).second) page_share_.take(user, 1);
}

Result<PageAddress> BlockTable::open_page(ClientId client, UserId user) {
  if (pages_ == nullptr) {
    return Status(ErrorCode::UNAVAILABLE,
                  "this daemon has no memory for the pages of blocks (the journal has the reason); "
                  "take IDs with next or range");
  }
  if (!page_users_.contains(client) && !page_share_.allows(user, 1)) {
    return Status(ErrorCode::BUSY, std::to_string(page_share_.used_by(user)) +
                                       " clients of this user have a page for blocks, of " +
                                       std::to_string(page_share_.used()) +
                                       "; take IDs with next or range");
  }
  if (pages_left_.contains(client))
    return Status(ErrorCode::UNAVAILABLE, "this client's former page is about to go; try again");
  const Status opened = pages_->open(client, user);
  if (!opened.ok()) return opened;
  count_page(client, user);
  return pages_->address(client);
}

Status BlockTable::within_share(UserId user) const {
  if (share_.allows(user, 1)) return {};
  return {ErrorCode::BUSY,
          "this user has " + std::to_string(share_.used_by(user)) + " of " +
              std::to_string(share_.used()) + " blocks that are out, and at most " +
              std::to_string(share_.total()) + " are allowed; take IDs with next or range"};
}

Status BlockTable::may_grant(ClientId client, UserId user) {
  const Status within = within_share(user);
  return within.ok() ? open_page(client, user).status() : within;
}

Result<std::uint32_t> BlockTable::free_slot(ClientId client, UserId user) const {
  if (const Status within = within_share(user); !within.ok()) return within;
  std::uint32_t slot = Block::kPageSlots;
  // In the order of their slots.
  for (auto at = blocks_.lower_bound({client, slot}); at != blocks_.end(); ++at, ++slot) {
    if (at->first != BlockKey{client, slot}) break;
  }
  if (slot < Block::kPageSlots + kMostWithoutPage) return slot;
  return Status(ErrorCode::BUSY, "this client has " + std::to_string(kMostWithoutPage) +
                                     " blocks without a page, which is the most; end one of them "
                                     "(end_block), or take IDs with next or range");
}

void BlockTable::add(const Block& block) {
  insert(block);
  if (block.has_page()) unpublished_.push_back(block.key());
}

void BlockTable::tell_pages() {
  for (const ClientId client : std::exchange(pages_left_, {})) pages_->remove(client);
  for (const BlockKey& key : unpublished_) {
    // It may be over already, and another one may be in its slot.
    const auto found = blocks_.find(key);
    if (found != blocks_.end() && !pages_->publish(place_of(found->second)).ok())
      lost_.push_back(key);
  }
  unpublished_.clear();
  if (!lost_.empty()) lost_timer_.start(0, [this] { end_lost(); });
}

void BlockTable::end_lost() {
  std::vector<BlockKey> lost;
  lost.swap(lost_);
  for (const BlockKey& key : lost) end_slot(key.first, key.second);
}

// --- ends

void BlockTable::end(const std::vector<BlockKey>& keys) {
  if (keys.empty()) return;
  std::vector<Block> ended;
  std::vector<BlockPlace> places;
  for (const BlockKey& key : keys) ended.push_back(remove(key));
  // What comes back goes in front of what is available: the lowest of it last.
  std::sort(ended.begin(), ended.end(), [](const Block& one, const Block& other) {
    const bool same = one.granted.sequence == other.granted.sequence;
    return same ? one.granted.begin > other.granted.begin
                : one.granted.sequence < other.granted.sequence;
  });
  for (const Block& block : ended) {
    if (block.has_page()) places.push_back(place_of(block));
  }
  std::vector<std::optional<std::int64_t>> taken(places.size());
  if (pages_ != nullptr && !places.empty()) taken = pages_->revoke(places);
  ASSERT(taken.size() == places.size());
  auto known = taken.begin();
  for (auto block = ended.begin(); block != ended.end();) {
    const std::optional<std::int64_t> count = block->has_page() ? *known++ : std::nullopt;
    ASSERT(!count || (*count >= 0 && *count <= block->size()));
    auto next = block + 1;
    while (next != ended.end() && continues_gap(*(next - 1), *next)) ++next;
    over_({block, next}, count);
    block = next;
  }
}

void BlockTable::end_told(BlockKey key, std::int64_t taken) {
  const Block block = remove(key);
  ASSERT(!block.has_page() && taken >= 0 && taken <= block.size());
  if (!has_blocks(key.first)) remove_absent(key.first);
  over_({&block, 1}, taken);
}

void BlockTable::end_slot(ClientId client, std::uint32_t slot) {
  if (in_slot(client, slot) != nullptr) end({{client, slot}});
}

void BlockTable::end_client(ClientId client) {
  end_clients({&client, 1});
}

// At once: what is adjacent is one gap, and no end looks at what ends with it.
void BlockTable::end_clients(std::span<const ClientId> clients) {
  std::vector<BlockKey> keys;
  for (const ClientId client : clients) {
    remove_absent(client);
    note_lost(client);
    for (auto at = blocks_.lower_bound({client, 0}); at != blocks_.end(); ++at) {
      if (at->first.first != client) break;
      keys.push_back(at->first);
    }
  }
  end(keys);
  for (const ClientId client : clients) close_page(client);
}

void BlockTable::client_left(ClientId client, const Peer& peer) {
  end_page(client);
  if (client == 0 || !has_blocks(client)) return;
  add_absent(client, peer);
  watch_absent();
}

void BlockTable::end_page(ClientId client) {
  note_lost(client);
  end_where(client, [](const Block& block) { return block.has_page(); });
  close_page(client);
}

void BlockTable::note_lost(ClientId client) {
  std::set<std::uint32_t> lost;
  if (pages_ != nullptr && pages_->is_lost(client)) lost = requests_of(client);
  lost_requests_.erase(client);
  if (!lost.empty()) lost_requests_[client] = std::move(lost);
}

// It is removed behind the record of this turn: after a kill before that, the next start needs it.
void BlockTable::close_page(ClientId client) {
  const auto page = page_users_.find(client);
  if (page == page_users_.end()) return;
  page_share_.release(page->second, 1);
  page_users_.erase(page);
  if (pages_ != nullptr) pages_left_.insert(client);
}

void BlockTable::end_sequence(SequenceId sequence) {
  const auto found = by_sequence_.find(sequence);
  if (found != by_sequence_.end()) end({found->second.begin(), found->second.end()});
}

void BlockTable::end_pages(SequenceId sequence) {
  std::vector<BlockKey> keys;
  for (const Block* block : of(sequence)) {
    if (block->has_page()) keys.push_back(block->key());
  }
  end(keys);
}

void BlockTable::end_outside(SequenceId sequence, std::int64_t floor, std::int64_t last) {
  std::vector<BlockKey> keys;
  for (const Block* block : of(sequence)) {
    if (block->granted.begin < floor || block->granted.end - 1 > last) keys.push_back(block->key());
  }
  end(keys);
}

void BlockTable::end_all_pages() {
  end_where([](const Block& block) { return block.has_page(); });
  // Those of clients that are not back go, too.
  for (const auto& [client, absent] : absent_) end_page(client);
}

void BlockTable::end_where(const std::function<bool(const Block&)>& over) {
  std::vector<BlockKey> keys;
  for (const auto& [key, block] : blocks_) {
    if (over(block)) keys.push_back(key);
  }
  end(keys);
}

bool BlockTable::end_where(ClientId client, const std::function<bool(const Block&)>& over) {
  std::vector<BlockKey> keys;
  for (auto at = blocks_.lower_bound({client, 0}); at != blocks_.end(); ++at) {
    if (at->first.first != client) break;
    if (over(at->second)) keys.push_back(at->first);
  }
  end(keys);
  return !keys.empty();
}

// --- clients that are not connected

bool BlockTable::has_blocks(ClientId client) const {
  const auto first = blocks_.lower_bound({client, 0});
  return first != blocks_.end() && first->first.first == client;
}

void BlockTable::add_absent(ClientId client, std::optional<Peer> peer) {
  remove_absent(client);
  const std::int64_t until_ms = clock_.monotonic_ms() + kReturnMs;
  absent_[client] = {until_ms, std::move(peer)};
  absent_until_.emplace(until_ms, client);
}

void BlockTable::remove_absent(ClientId client) {
  const auto found = absent_.find(client);
  if (found == absent_.end()) return;
  absent_until_.erase({found->second.until_ms, client});
  absent_.erase(found);
}

void BlockTable::watch_absent() {
  if (absent_until_.empty() || timer_.running()) return;
  timer_.start(absent_until_.begin()->first - clock_.monotonic_ms(), [this] { end_absent(); });
}

void BlockTable::end_absent() {
  const std::int64_t now_ms = clock_.monotonic_ms();
  const bool late = !absent_until_.empty() && now_ms - absent_until_.begin()->first > kLateMs;
  stood_still_ = late && !stood_still_;
  if (stood_still_) return timer_.start(kLateMs, [this] { end_absent(); });
  std::vector<ClientId> over;
  for (const auto& [until_ms, client] : absent_until_) {
    if (until_ms > now_ms) break;
    over.push_back(client);
  }
  end_clients(over);
  watch_absent();
}

const Peer* BlockTable::left_by(ClientId client) const {
  const auto found = absent_.find(client);
  return found == absent_.end() || !found->second.peer ? nullptr : &*found->second.peer;
}

void BlockTable::client_back(ClientId client, SessionId session) {
  remove_absent(client);
  for (auto at = blocks_.lower_bound({client, 0}); at != blocks_.end(); ++at) {
    if (at->first.first != client) break;
    at->second.session = session;
  }
  // Nobody can find what was taken there. Kept, they would only keep IDs and a page from others.
  if (pages_ == nullptr || pages_->is_lost(client)) end_page(client);
}

// --- over the end of a process

void BlockTable::restore(const StateImage& image) {
  std::set<ClientId> with_pages;
  for (const auto& [id, sequence] : image.sequences) {
    for (const auto& [key, out] : sequence.blocks) {
      const ClientId owner = out.granted.client;
      const auto client = image.clients.find(owner);
      const UserId user = client == image.clients.end() ? kNoUserOrGroup : client->second.user;
      const Block block{out.granted, out.lease, user, 0};
      insert(block);
      add_absent(owner, std::nullopt);
      if (!block.has_page()) continue;
      with_pages.insert(owner);
      count_page(owner, user);
    }
  }
  // Before a sequence is restored: it may end its blocks at once.
  if (pages_ != nullptr) pages_->keep_only(with_pages);
}

void BlockTable::await_clients() {
  watch_absent();
}

}  // namespace seqd

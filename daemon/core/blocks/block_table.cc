#include "daemon/core/blocks/block_table.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The blocks of one client, in the order of their slots.
template <typename Blocks>
auto of_client(Blocks& blocks, ClientId client) {
  using Iterator = decltype(blocks.begin());
  // As std::ranges::subrange, which clang 14 does not compile with the library of GCC 12.
  struct Part {
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    Iterator first;
    Iterator last;
  };
  return Part{blocks.lower_bound({client, 0}), blocks.lower_bound({client + 1, 0})};
}

BlockPlace place_of(const Block& block) {
  return {block.granted.client, block.granted.slot, block.granted.request, block.size()};
}

}  // namespace

BlockTable::BlockTable(const CoreContext& context, Over over, BlockPages* pages, std::int64_t most)
    : over_(std::move(over)),
      pages_(pages),
      share_(most, FairShare::kThreeQuarters),
      page_share_(BlockPages::kMost, FairShare::kThreeQuarters),
      absent_timer_(context.timers),
      failed_timer_(context.timers) {}

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
  for (const auto& [key, block] : of_client(blocks_, client)) {
    if (block.granted.request == request) return &block;
  }
  return nullptr;
}

bool BlockTable::was_lost(ClientId client, std::uint32_t request) const {
  const auto found = lost_requests_.find(client);
  return found != lost_requests_.end() && found->second.contains(request);
}

std::set<std::uint32_t> BlockTable::requests_of(ClientId client) const {
  std::set<std::uint32_t> requests;
  for (const auto& [key, block] : of_client(blocks_, client))
    requests.insert(block.granted.request);
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
  const auto others = by_sequence_.find(block.granted.sequence);
  others->second.erase(key);
  if (others->second.empty()) by_sequence_.erase(others);
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
  if (closed_pages_.contains(client))
    return Status(ErrorCode::UNAVAILABLE, "this client's former page is about to go; try again");
  const Status opened = pages_->open(client, user);
  if (!opened.ok()) return opened;
  count_page(client, user);
  return pages_->address(client);
}

Status BlockTable::prepare_grant(ClientId client, UserId user) {
  if (!share_.allows(user, 1)) {
    return {ErrorCode::BUSY,
            "this user has " + std::to_string(share_.used_by(user)) + " of " +
                std::to_string(share_.used()) + " blocks that are out, and at most " +
                std::to_string(share_.total()) + " are allowed; take IDs with next or range"};
  }
  return open_page(client, user).status();
}

void BlockTable::add(const Block& block) {
  insert(block);
  unpublished_.push_back(block.key());
}

void BlockTable::update_pages() {
  for (const ClientId client : std::exchange(closed_pages_, {})) pages_->remove(client);
  for (const BlockKey& key : unpublished_) {
    // It may be over already, and another one may be in its slot.
    const auto found = blocks_.find(key);
    if (found != blocks_.end() && !pages_->publish(place_of(found->second)).ok())
      publish_failed_.push_back(key);
  }
  unpublished_.clear();
  if (!publish_failed_.empty()) failed_timer_.start(0, [this] { end_failed(); });
}

void BlockTable::end_failed() {
  std::vector<BlockKey> failed;
  failed.swap(publish_failed_);
  for (const BlockKey& key : failed) end_slot(key.first, key.second);
}

// --- ends

void BlockTable::end(const std::vector<BlockKey>& keys) {
  if (keys.empty()) return;
  std::vector<Block> ended;
  std::vector<BlockPlace> places;
  for (const BlockKey& key : keys) ended.push_back(remove(key));
  // What comes back goes in front of what is available: the lowest of it last.
  std::sort(ended.begin(), ended.end(), [](const Block& one, const Block& other) {
    return one.granted.begin > other.granted.begin;
  });
  for (const Block& block : ended) places.push_back(place_of(block));
  std::vector<std::optional<std::int64_t>> taken(places.size());
  if (pages_ != nullptr) taken = pages_->revoke(places);
  ASSERT(taken.size() == places.size());
  for (std::size_t at = 0; at < ended.size(); ++at) {
    ASSERT(!taken[at] || (*taken[at] >= 0 && *taken[at] <= ended[at].size()));
    over_(ended[at], taken[at]);
  }
}

void BlockTable::end_slot(ClientId client, std::uint32_t slot) {
  if (in_slot(client, slot) != nullptr) end({{client, slot}});
}

void BlockTable::end_client(ClientId client) {
  end_clients({&client, 1});
}

// At once: one barrier is enough for all of them.
void BlockTable::end_clients(std::span<const ClientId> clients) {
  std::vector<BlockKey> keys;
  for (const ClientId client : clients) {
    absent_.erase(client);
    note_lost(client);
    for (const auto& [key, block] : of_client(blocks_, client)) keys.push_back(key);
  }
  end(keys);
  for (const ClientId client : clients) close_page(client);
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
  if (pages_ != nullptr) closed_pages_.insert(client);
}

void BlockTable::end_sequence(SequenceId sequence) {
  const auto found = by_sequence_.find(sequence);
  if (found != by_sequence_.end()) end({found->second.begin(), found->second.end()});
}

void BlockTable::end_outside(SequenceId sequence, std::int64_t floor, std::int64_t last) {
  std::vector<BlockKey> keys;
  for (const Block* block : of(sequence)) {
    if (block->granted.begin < floor || block->granted.end - 1 > last) keys.push_back(block->key());
  }
  end(keys);
}

void BlockTable::end_all() {
  end_where([](const Block&) { return true; });
  end_absent();  // their pages go, too
}

void BlockTable::end_where(const std::function<bool(const Block&)>& over) {
  std::vector<BlockKey> keys;
  for (const auto& [key, block] : blocks_) {
    if (over(block)) keys.push_back(key);
  }
  end(keys);
}

bool BlockTable::end_some(ClientId client, const std::function<bool(const Block&)>& over) {
  std::vector<BlockKey> keys;
  for (const auto& [key, block] : of_client(blocks_, client)) {
    if (over(block)) keys.push_back(key);
  }
  end(keys);
  return !keys.empty();
}

// --- over the end of a process

void BlockTable::restore(const StateImage& image) {
  for (const auto& [id, sequence] : image.sequences) {
    for (const auto& [key, block] : sequence.blocks) {
      const ClientId owner = block.granted.client;
      const auto client = image.clients.find(owner);
      const UserId user = client == image.clients.end() ? kNoUserOrGroup : client->second.user;
      insert({block.granted, block.lease, user, 0});
      absent_.insert(owner);
      count_page(owner, user);
    }
  }
  if (pages_ != nullptr) pages_->keep_only(absent_);
  if (!absent_.empty()) absent_timer_.start(kReturnMs, [this] { end_absent(); });
}

void BlockTable::client_back(ClientId client, SessionId session) {
  absent_.erase(client);
  for (auto& [key, block] : of_client(blocks_, client)) block.session = session;
  // Nobody can find what was taken there. Kept, they would only keep IDs and a page from others.
  if (pages_ == nullptr || pages_->is_lost(client)) end_client(client);
}

void BlockTable::end_absent() {
  end_clients(std::vector<ClientId>(absent_.begin(), absent_.end()));
}

}  // namespace seqd

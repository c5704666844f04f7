#include "daemon/core/log/state_image.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_image_checks.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {
namespace {

// Not a number of a scope or sequence: no number follows it.
constexpr std::uint32_t last_number = 0xffffffff;
static_assert(kLastSequence == last_number - 1);

// The counter was lowered, so leases may begin again where nothing was used.
std::int64_t lowered_high_water(const SequenceImage& sequence) {
  std::int64_t high_water = sequence.used_below;
  for (const AvailableRange& range : sequence.ranges) high_water = std::max(high_water, range.end);
  for (const auto& [key, block] : sequence.blocks)
    high_water = std::max(high_water, block.granted.end);
  return high_water;
}

// Whether two ranges share an ID, what is being returned and what is out among them.
bool has_one_twice(const SequenceImage& sequence) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const AvailableRange& range : sequence.ranges) ranges.emplace_back(range.begin, range.end);
  for (const auto& [key, block] : sequence.blocks)
    ranges.emplace_back(block.granted.begin, block.granted.end);
  if (const auto& opened = sequence.returning) ranges.emplace_back(opened->begin, opened->end);
  std::sort(ranges.begin(), ranges.end());
  return std::adjacent_find(ranges.begin(), ranges.end(), [](const auto& one, const auto& next) {
           return one.second > next.first;
         }) != ranges.end();
}

}  // namespace

void snapshot_return(const ReturnOpened& opened,
                     const std::function<void(const LogEntry&)>& entry) {
  ASSERT(is_range(opened.begin, opened.end));
  entry(AvailableRange{opened.sequence, opened.token, opened.begin, opened.end, opened.begin});
  entry(opened);
}

std::int64_t StateImage::available(const SequenceImage& sequence) {
  std::int64_t sum = 0;
  for (const AvailableRange& range : sequence.ranges) sum += range.end - range.begin;
  return sum;
}

Status StateImage::apply(const LogEntry& entry) {
  return std::visit([this](const auto& one) { return apply_one(one); }, entry);
}

Status StateImage::check() const {
  std::unordered_set<std::string_view> taken(sequences.size());
  std::set<BlockKey> slots;
  for (const auto& [id, sequence] : sequences) {
    if (!taken.insert(sequence.definition.name).second)
      return corrupt(("a second sequence \"" + sequence.definition.name + "\"").c_str(), id);
    for (const auto& [key, block] : sequence.blocks) {
      if (!slots.insert(key).second)
        return corrupt("two blocks in one slot of a client", key.first);
    }
    if (has_one_twice(sequence))
      return corrupt(
          ("available ranges of \"" + sequence.definition.name + "\" that share an ID").c_str(),
          id);
  }
  return {};
}

Result<SequenceImage*> StateImage::find(SequenceId sequence) {
  // Of a snapshot in the order of the numbers, what belongs to a sequence follows it.
  if (!sequences.empty() && sequences.rbegin()->first == sequence)
    return &sequences.rbegin()->second;
  const auto found = sequences.find(sequence);
  if (found == sequences.end())
    return corrupt("an entry of a sequence that was not defined", sequence);
  ASSERT(found->second.definition.sequence == sequence);
  return &found->second;
}

Status StateImage::apply_one(const DefineScope& entry) {
  if (entry.scope == 0 || entry.scope == last_number) {
    return corrupt("an impossible scope number", entry.scope);
  }
  scopes[entry.scope] = entry;
  next_numbers.scope = std::max(next_numbers.scope, entry.scope + 1);
  return {};
}

Status StateImage::apply_one(const DefineSequence& entry) {
  if (entry.sequence == 0 || entry.sequence == last_number) {
    return corrupt("an impossible sequence number", entry.sequence);
  }
  if (!scopes.contains(entry.scope))
    return corrupt("a sequence in a scope that was not defined", entry.sequence);
  if (entry.high_water < 0) return corrupt("a high-water mark below 0", entry.sequence);
  const std::size_t had = sequences.size();
  const auto found = sequences.try_emplace(sequences.end(), entry.sequence);
  const bool fresh = sequences.size() > had;
  SequenceImage& sequence = found->second;
  sequence.definition = entry;
  if (fresh) sequence.used_below = entry.high_water;
  sequence.totals.sequence = entry.sequence;
  next_numbers.sequence = std::max(next_numbers.sequence, entry.sequence + 1);
  return {};
}

Status StateImage::apply_one(const LeaseIntended& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  if ((*sequence)->intent || (*sequence)->returning)
    return corrupt("a second operation in flight", entry.sequence);
  (*sequence)->intent = entry;
  return {};
}

Status StateImage::apply_one(const LeaseGranted& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  if (!is_range(entry.begin, entry.end)) return corrupt("a lease of no range", entry.sequence);
  SequenceImage& image = **sequence;
  if (!image.intent || image.intent->lease != entry.lease)
    return corrupt("a lease that was not requested", entry.sequence);
  image.intent.reset();
  image.ranges.push_back({entry.sequence, entry.lease, entry.begin, entry.end, entry.begin});
  if (!count(image.totals.leased, entry.end - entry.begin)) return too_many(entry.sequence);
  image.definition.high_water = std::max(image.definition.high_water, entry.end);
  return {};
}

Status StateImage::apply_one(const LeaseClosed& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  SequenceImage& image = **sequence;
  if (!image.intent || image.intent->lease != entry.lease)
    return corrupt("a lease that was not requested", entry.sequence);
  if (entry.how == LeaseEnd::untraceable && !count(image.totals.unknown, 1)) {
    return too_many(entry.sequence);
  }
  image.intent.reset();
  return {};
}

Status StateImage::apply_one(const Reserved& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  for (AvailableRange& range : (*sequence)->ranges) {
    if (entry.end <= range.begin || entry.end > range.end) continue;
    range.reserved_end = std::max(range.reserved_end, entry.end);
    return {};
  }
  return corrupt("a reservation outside of every available range", entry.sequence);
}

Status StateImage::apply_one(const Issued& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  Fifo<AvailableRange>& ranges = (*sequence)->ranges;
  if (!is_range(entry.begin, entry.end) || ranges.empty() || entry.begin != ranges.front().begin ||
      entry.end > ranges.front().reserved_end) {
    return corrupt("an issue of IDs that were not next", entry.sequence);
  }
  ranges.front().begin = entry.end;
  use(**sequence, entry.end);
  if (ranges.front().begin == ranges.front().end) ranges.pop_front();
  if (!count((*sequence)->totals.issued, entry.end - entry.begin)) return too_many(entry.sequence);
  return entry.client == 0 ? Status() : apply_one(RetainedIssue{entry});
}

Status StateImage::apply_one(const DefineClient& entry) {
  if (entry.client == 0 || entry.client > kLastClient || clients.contains(entry.client)) {
    return corrupt("an impossible client number, or one used twice", entry.client);
  }
  clients[entry.client].identity = entry.identity;
  next_numbers.client = std::max(next_numbers.client, entry.client + 1);
  return {};
}

Status StateImage::apply_one(const ClientUser& entry) {
  const auto found = clients.find(entry.client);
  if (found == clients.end())
    return corrupt("an entry of a client that was not defined", entry.client);
  found->second.user = entry.user;
  return {};
}

Status StateImage::apply_one(const Acknowledged& entry) {
  const auto found = clients.find(entry.client);
  if (found == clients.end())
    return corrupt("an entry of a client that was not defined", entry.client);
  ClientImage& client = found->second;
  client.acknowledged_below = std::max(client.acknowledged_below, entry.below);
  client.retained.acknowledge(client.acknowledged_below, nullptr);
  return {};
}

Status StateImage::apply_one(const ForgetClient& entry) {
  if (clients.erase(entry.client) == 0)
    return corrupt("an entry of a client that was not defined", entry.client);
  return {};
}

Status StateImage::apply_one(const ForgetSequence& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  const SequenceImage& image = **sequence;
  if (!image.ranges.empty() || !image.blocks.empty() || image.intent || image.returning)
    return corrupt("a forgotten sequence that has available IDs", entry.sequence);
  for (const auto& [client, kept] : clients) {
    for (const Issued& issue : kept.retained) {
      if (issue.sequence == entry.sequence)
        return corrupt("a forgotten sequence that a client may retry", entry.sequence);
    }
  }
  const std::string name = image.definition.name;
  sequences.erase(entry.sequence);
  // No name is without a sequence. Of periods the newest one is never forgotten.
  const bool has_another =
      base_of(name) != name ||
      std::any_of(sequences.begin(), sequences.end(), [&name](const auto& other) {
        return base_of(other.second.definition.name) == name;
      });
  if (!has_another) names.erase(name);
  return {};
}

Status StateImage::apply_one(const StoreBound& entry) {
  if (!scopes.contains(entry.scope))
    return corrupt("a database of a scope that was not defined", entry.scope);
  databases[entry.scope] = entry;
  return {};
}

Status StateImage::apply_one(const StoreHeartbeat& entry) {
  if (!scopes.contains(entry.scope))
    return corrupt("a heartbeat of a scope that was not defined", entry.scope);
  if (entry.beat < 0) return corrupt("a heartbeat below 0", entry.scope);
  heartbeats[entry.scope] = entry;
  return {};
}

Status StateImage::apply_one(const GapMade& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  Fifo<AvailableRange>& ranges = (*sequence)->ranges;
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    const bool front = entry.begin == range->begin && entry.end <= range->end;
    const bool back = entry.begin > range->begin && entry.end == range->end;
    if (entry.end <= entry.begin || !(front || back)) continue;
    if (front) {
      range->begin = entry.end;
      range->reserved_end = std::max(range->reserved_end, entry.end);
    } else {
      range->end = entry.begin;
      range->reserved_end = std::min(range->reserved_end, entry.begin);
    }
    ASSERT(range->begin <= range->reserved_end && range->reserved_end <= range->end);
    use(**sequence, entry.end);
    if (range->begin == range->end) ranges.erase(range);
    return count((*sequence)->totals.gaps, entry.end - entry.begin) ? Status()
                                                                    : too_many(entry.sequence);
  }
  return corrupt("a gap that is not the front or the back of an available range", entry.sequence);
}

Status StateImage::apply_one(const AvailableRange& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  if (!is_range(entry.begin, entry.end) || entry.reserved_end < entry.begin ||
      entry.reserved_end > entry.end) {
    return corrupt("an available range with impossible bounds", entry.sequence);
  }
  (*sequence)->ranges.push_back(entry);
  (*sequence)->used_below = std::min((*sequence)->used_below, entry.begin);
  return {};
}

Status StateImage::apply_one(const RetainedIssue& entry) {
  const Issued& issue = entry.issue;
  const auto found = clients.find(issue.client);
  if (found == clients.end())
    return corrupt("an issue to a client that was not defined", issue.client);
  if (!is_range(issue.begin, issue.end)) return corrupt("an issue of no IDs", issue.sequence);
  if (issue.form >= DefineName::kMostForms)
    return corrupt("a text in an impossible form", issue.sequence);
  found->second.retained.add(issue);
  return {};
}

Status StateImage::apply_one(const SequenceTotals& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  if (entry.leased < 0 || entry.issued < 0 || entry.returned < 0 || entry.gaps < 0 ||
      entry.unknown < 0) {
    return corrupt("a negative total", entry.sequence);
  }
  (*sequence)->totals = entry;
  return {};
}

Status StateImage::apply_one(const NextNumbers& entry) {
  if (entry.client > kLastClient + 1) return corrupt("an impossible client number", entry.client);
  next_numbers.sequence = std::max(next_numbers.sequence, entry.sequence);
  next_numbers.scope = std::max(next_numbers.scope, entry.scope);
  next_numbers.client = std::max(next_numbers.client, entry.client);
  return {};
}

Status StateImage::apply_one(const ReturnOpened& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  SequenceImage& image = **sequence;
  if (image.intent || image.returning)
    return corrupt("a second operation in flight", entry.sequence);
  if (entry.reuse == Reuse::never) return corrupt("a return of what is not reused", entry.sequence);
  const auto found = std::find_if(image.ranges.begin(), image.ranges.end(), [&](const auto& range) {
    return range.begin == entry.begin && range.end == entry.end;
  });
  if (found == image.ranges.end()) {
    return corrupt("a return of what is no available range", entry.sequence);
  }
  image.ranges.erase(found);
  image.returning = entry;
  return {};
}

Status StateImage::apply_one(const ReturnClosed& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  SequenceImage& image = **sequence;
  if (!image.returning || image.returning->token != entry.token)
    return corrupt("the end of a return that was not opened", entry.sequence);
  const ReturnOpened opened = *image.returning;
  ASSERT(is_range(opened.begin, opened.end));  // it was an available range
  image.returning.reset();
  const bool returned = entry.how == ReturnEnd::returned;
  if (!returned) use(image, opened.end);
  if (returned && opened.reuse == Reuse::tail)
    image.definition.high_water = lowered_high_water(image);
  std::int64_t& total = returned ? image.totals.returned : image.totals.gaps;
  return count(total, opened.end - opened.begin) ? Status() : too_many(entry.sequence);
}

Status StateImage::apply_one(const UsedBelow& entry) {
  Result<SequenceImage*> sequence = find(entry.sequence);
  if (!sequence.ok()) return sequence.status();
  if (entry.end < 0) return corrupt("a negative ID", entry.sequence);
  (*sequence)->used_below = entry.end;
  return {};
}

void StateImage::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  entry(next_numbers);
  for (const auto& [id, scope] : scopes) entry(scope);
  for (const auto& [id, database] : databases) entry(database);
  for (const auto& [id, heartbeat] : heartbeats) entry(heartbeat);
  for (const auto& [id, sequence] : sequences) {
    entry(sequence.definition);
    entry(sequence.totals);
    for (const auto& [key, block] : sequence.blocks) snapshot_block(block, entry);
    for (const AvailableRange& range : sequence.ranges) entry(range);
    if (sequence.returning) snapshot_return(*sequence.returning, entry);
    entry(UsedBelow{id, sequence.used_below});
    if (sequence.intent) entry(*sequence.intent);
  }
  for (const auto& [name, known] : names) entry(known);
  for (const auto& [name, reached] : registers) entry(reached);
  for (const auto& [id, client] : clients) {
    entry(DefineClient{id, client.identity});
    if (client.user != kNoUserOrGroup) entry(ClientUser{id, client.user});
    if (client.acknowledged_below > 0) entry(Acknowledged{id, client.acknowledged_below});
    for (const Issued& issue : client.retained) entry(RetainedIssue{issue});
  }
}

}  // namespace seqd

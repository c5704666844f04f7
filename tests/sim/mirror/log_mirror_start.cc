// The part of log_mirror.h that holds what a start has read against what was written.
#include <algorithm>
#include <variant>

#include "tests/sim/mirror/image_comparison.h"
#include "tests/sim/mirror/log_mirror.h"

namespace seqd::sim {

IntervalSet LogMirror::issued_in_turn(SequenceId sequence) const {
  IntervalSet out;
  for (const LogEntry& entry : turn_) {
    const auto* issue = std::get_if<Issued>(&entry);
    if (issue != nullptr && issue->sequence == sequence) out.add(issue->begin, issue->end);
  }
  return out;
}

IntervalSet LogMirror::taken_in_turn(SequenceId sequence) const {
  IntervalSet out;
  for (const LogEntry& entry : turn_) {
    const auto* block = std::get_if<BlockEnded>(&entry);
    if (block != nullptr && block->sequence == sequence && block->begin < block->taken_end)
      out.add(block->begin, block->taken_end);
  }
  return out;
}

const LeaseGranted* LogMirror::granted_in_turn(SequenceId sequence) const {
  for (const LogEntry& entry : turn_) {
    const auto* lease = std::get_if<LeaseGranted>(&entry);
    if (lease != nullptr && lease->sequence == sequence) return lease;
  }
  return nullptr;
}

bool LogMirror::is(const StateImage& found) const {
  return same_image(image_, found);
}

// A copy that was made behind a turn that was cut off has its record, and will repeat it.
void LogMirror::enter_cut_off(const StateImage& found) {
  std::erase_if(cut_off_, [&](const Issued& issue) {
    const auto client = found.clients.find(issue.client);
    if (client == found.clients.end()) return false;
    const auto& retained = client->second.retained;
    const bool read = std::any_of(retained.begin(), retained.end(), [&](const Issued& one) {
      return one.sequence == issue.sequence && one.begin <= issue.begin && issue.end <= one.end;
    });
    if (!read) return false;
    stage_.accounts.issued(found.sequences.at(issue.sequence).definition.name, issue.begin,
                           issue.end);
    return true;
  });
}

void LogMirror::started(const Started& started) {
  for (const LeaseIntended& lease : started.dropped) stage_.accounts.given_up(lease.lease);
  if (!known_) {
    ++memory_losses_;
    enter_cut_off(started.image);
  } else if (is(started.image)) {
    if (!turn_.empty()) stage_.happened(Kind::turn_dropped, site_);
  } else {
    LogMirror with_turn = *this;
    for (const LogEntry& entry : turn_) {
      with_turn.note_forgotten(entry);
      if (!with_turn.image_.apply(entry).ok()) violation("a turn that was cut off makes no sense");
    }
    if (!turn_.empty() && with_turn.is(started.image)) {
      stage_.happened(Kind::turn_kept, site_);
      image_ = with_turn.image_;
      forgotten_ = with_turn.forgotten_;
      for (const LogEntry& entry : turn_) enter(entry);
    } else if (!disturbed_) {
      violation("nothing but kills happened to the directory, and the start found another state (" +
                started.how + ")");
    } else {
      explain(started);
    }
  }
  for (const GapMade& gap : started.gaps) {
    stage_.accounts.gap(started.image.sequences.at(gap.sequence).definition.name, gap.begin,
                        gap.end);
  }
  turn_.clear();
  image_ = started.image;
  known_ = runs_ = true;
  started_ms_ = stage_.time.monotonic_ms();
  failed_stores_.clear();
  disturbed_ = damaged_ = start_cut_off_ = false;
  for (const auto& [id, sequence] : image_.sequences) {
    if (sequence.intent) intents_.insert(sequence.intent->lease);
    if (!sequence.returning) continue;
    intents_.insert(sequence.returning->token);
    opened_[sequence.returning->token] = *sequence.returning;
  }
}

// The start found something else: every ID that was available and is not any more must be a gap
// that it told, or one that an earlier start made that was cut off.
void LogMirror::explain(const Started& started) {
  for (const auto& [id, had] : image_.sequences) explain(had, started);
  if (!same_clients(image_, started.image)) ++memory_losses_;
}

void LogMirror::explain(const SequenceImage& had, const Started& started) {
  const SequenceId id = had.definition.sequence;
  const std::string& sequence = had.definition.name;
  const auto found = started.image.sequences.find(id);
  const bool known = found != started.image.sequences.end();
  IntervalSet vanished = available_of(had);
  // Then a high-water mark says nothing of what was read.
  const bool returns = stage_.profile.reuse != Reuse::never;
  // A start or a turn that was cut off reported no gaps, but the totals count what it gave up.
  const bool untold = known && (start_cut_off_ || !turn_.empty());
  const bool gave_up = untold && found->second.totals.unknown > had.totals.unknown;
  std::set<Token> open;
  for (const LeaseIntended& lease : started.dropped) open.insert(lease.lease);
  if (known) {
    if (found->second.intent) open.insert(found->second.intent->lease);
    if (const LeaseGranted* lease = granted_in_turn(id)) {
      const bool read = returns ? !open.contains(lease->lease) && !gave_up
                                : lease->end <= found->second.definition.high_water;
      if (read) vanished.add(lease->begin, lease->end);
    }
    vanished.remove(available_of(found->second));
    // The end of its return was in a turn that was cut off.
    const bool returned = found->second.totals.returned > had.totals.returned;
    if (had.returning && !found->second.returning && returned)
      vanished.remove(had.returning->begin, had.returning->end);
  }
  for (const GapMade& gap : started.gaps) {
    if (gap.sequence == id) vanished.remove(gap.begin, gap.end);
  }
  // Their lease was granted and that was not on the medium: it is open again, or given up.
  std::vector<AvailableRange> ranges = held_by(had);
  if (had.returning) {
    const ReturnOpened& back = *had.returning;
    ranges.push_back({id, leases_of_returns_[back.token], back.begin, back.end, back.begin});
  }
  for (const AvailableRange& range : ranges) {
    const bool never_read = known && (returns || range.end > found->second.definition.high_water);
    if (!open.contains(range.lease) && !(gave_up && never_read)) continue;
    vanished.remove(range.begin, range.end);
    if (gave_up) stage_.accounts.given_up(range.lease);
  }
  IntervalSet turn = issued_in_turn(id);
  for (const auto& [begin, end] : turn.intervals()) {
    if (!vanished.contains(begin, end)) continue;
    vanished.remove(begin, end);
    issued_end_[sequence] = std::max(issued_end_[sequence], end);
    stage_.accounts.issued(sequence, begin, end);
  }
  IntervalSet taken = taken_in_turn(id);
  for (const auto& [begin, end] : taken.intervals()) {
    if (!vanished.contains(begin, end)) continue;
    vanished.remove(begin, end);
    stage_.accounts.issued_of_block(sequence, begin, end);
  }
  if (had.intent && !open.contains(had.intent->lease) && (gave_up || damaged_)) {
    stage_.accounts.given_up(had.intent->lease);
  }
  const bool counted = untold && found->second.totals.gaps - had.totals.gaps >= vanished.size();
  if (counted || damaged_) {
    for (const auto& [begin, end] : vanished.intervals()) {
      stage_.accounts.gap(sequence, begin, end);
    }
  } else if (!vanished.empty()) {
    const auto [begin, end] = *vanished.intervals().begin();
    violation("[" + std::to_string(begin) + ", " + std::to_string(end) + ") of \"" + sequence +
              "\" was available, and is not after the start (" + started.how +
              "), which told of no gap there");
  }
}

}  // namespace seqd::sim

#include "tests/sim/mirror/log_mirror.h"

#include <algorithm>
#include <variant>

#include "daemon/core/text/period.h"
#include "tests/unit/world.h"

namespace seqd::sim {
namespace {

template <typename Waiting, typename Arrived>
void arrive(Waiting& waiting, LogPosition position, Arrived arrived) {
  const auto first = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const auto& one) { return one.first > position; });
  for (auto at = waiting.begin(); at != first; ++at) arrived(at->second);
  waiting.erase(waiting.begin(), first);
}

}  // namespace

IntervalSet LogMirror::available_of(const SequenceImage& sequence) {
  IntervalSet out;
  for (const AvailableRange& range : held_by(sequence)) out.add(range.begin, range.end);
  if (sequence.returning) out.add(sequence.returning->begin, sequence.returning->end);
  return out;
}

void LogMirror::violation(const std::string& what) const {
  stage_.history.violation("daemon " + std::to_string(site_) + ": " + what);
}

// --- while a daemon runs

void LogMirror::committed(LogPosition position) {
  stage_.transcript.committed(site_);
  committing_ = false;
  for (const LogEntry& entry : turn_) {
    apply(entry);
    enter(entry);
    if (const auto* reserved = std::get_if<Reserved>(&entry)) {
      reservations_waiting_.emplace_back(position, *reserved);
    } else if (const auto* intent = std::get_if<LeaseIntended>(&entry)) {
      intents_waiting_.emplace_back(position, intent->lease);
    } else if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
      intents_waiting_.emplace_back(position, opened->token);
    } else if (const auto* scope = std::get_if<DefineScope>(&entry)) {
      if (scope->state == ScopeState::claiming)
        claims_waiting_.emplace_back(position, scope->nonce);
    }
  }
  turn_.clear();
}

void LogMirror::durable(LogPosition position) {
  arrive(reservations_waiting_, position, [this](const Reserved& reserved) {
    std::int64_t& end = reserved_[reserved.sequence];
    end = std::max(end, reserved.end);
  });
  arrive(intents_waiting_, position, [this](const Token& token) { intents_.insert(token); });
  arrive(claims_waiting_, position, [this](const Token& nonce) { claims_.insert(nonce); });
}

void LogMirror::note_forgotten(const LogEntry& entry) {
  const auto* forgotten = std::get_if<ForgetClient>(&entry);
  if (forgotten == nullptr) return;
  const auto found = image_.clients.find(forgotten->client);
  if (found != image_.clients.end()) forgotten_.insert(found->second.identity);
}

// Behind a reservation that is durable, or what was left of a block: the start has made durable
// that it was out, and without its end a power loss makes all of it a gap.
bool LogMirror::may_be_issued(SequenceId sequence, std::int64_t begin, std::int64_t end) const {
  const auto reserved = reserved_.find(sequence);
  if (reserved != reserved_.end() && end <= reserved->second) return true;
  const auto left = left_of_blocks_.find(sequence);
  if (left == left_of_blocks_.end()) return false;
  IntervalSet missing;
  missing.add(begin, end);
  missing.remove(left->second);
  if (missing.empty()) return true;
  const auto last = std::prev(missing.intervals().end());
  return reserved != reserved_.end() && last->second <= reserved->second;
}

void LogMirror::apply(const LogEntry& entry) {
  note_forgotten(entry);
  if (const auto* issue = std::get_if<Issued>(&entry)) {
    if (elsewhere_) violation("IDs of one database are issued for another");
    if (!may_be_issued(issue->sequence, issue->begin, issue->end)) {
      violation("IDs below " + std::to_string(issue->end) + " of \"" + name(issue->sequence) +
                "\" are issued before their reservation is durable");
    }
  }
  if (const auto* block = std::get_if<BlockGranted>(&entry)) {
    if (elsewhere_ || !may_be_issued(block->sequence, block->begin, block->end)) {
      violation("IDs below " + std::to_string(block->end) + " of \"" + name(block->sequence) +
                "\" are granted before their reservation is durable, or of another database");
    }
    // All settings that there were are below those of the profile.
    const std::int64_t most = stage_.profile.max_unsynced - (stage_.profile.max_unsynced + 3) / 4;
    const std::int64_t room = most - StateImage::out(image_.sequences.at(block->sequence));
    if (block->end - block->begin > (room + 3) / 4)
      violation("one block of \"" + name(block->sequence) + "\" has more than its share");
  }
  if (const auto* block = std::get_if<BlockEnded>(&entry)) {
    const auto& out = image_.sequences.at(block->sequence).blocks;
    const auto found = out.find({block->client, block->slot});
    if (found != out.end() && block->taken_end < found->second.granted.end)
      left_of_blocks_[block->sequence].add(block->taken_end, found->second.granted.end);
  }
  if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
    // The counter may come back to what was reserved.
    std::int64_t& end = reserved_[opened->sequence];
    if (opened->reuse == Reuse::tail) end = std::min(end, opened->begin);
    for (const AvailableRange& range : image_.sequences.at(opened->sequence).ranges) {
      if (range.begin == opened->begin) leases_of_returns_[opened->token] = range.lease;
    }
  }
  if (const auto* known = std::get_if<DefineName>(&entry)) {
    if (stage_.profile.textless && known->name == "alpha" && !known->forms.empty())
      violation("a form is recorded of a sequence of which nobody has asked a text");
  }
  if (const auto* defined = std::get_if<DefineSequence>(&entry)) {
    if (!period_of(defined->name).empty() && !image_.sequences.contains(defined->sequence))
      stage_.happened(Kind::period_begun, site_);
  }
  if (std::holds_alternative<ForgetSequence>(entry))
    stage_.happened(Kind::sequence_forgotten, site_);
  const Status applied = image_.apply(entry);
  if (!applied.ok()) violation("the log makes no sense: " + applied.text());
}

void LogMirror::enter(const LogEntry& entry) {
  if (const auto* issue = std::get_if<Issued>(&entry)) {
    enter(*issue);
  } else if (const auto* block = std::get_if<BlockEnded>(&entry)) {
    if (block->begin < block->taken_end)
      stage_.accounts.issued_of_block(name(block->sequence), block->begin, block->taken_end);
  } else if (const auto* lease = std::get_if<LeaseGranted>(&entry)) {
    stage_.accounts.recorded(name(lease->sequence), lease->begin, lease->end, lease->lease);
  } else if (const auto* closed = std::get_if<LeaseClosed>(&entry)) {
    if (closed->how != LeaseEnd::untraceable) return;
    stage_.happened(Kind::lease_untraceable, site_);
    stage_.accounts.given_up(closed->lease);
  } else if (const auto* gap = std::get_if<GapMade>(&entry)) {
    if (gap->cause == GapCause::epoch_lost && elsewhere_)
      violation("IDs are given up because another database does not know them");
    if (gap->cause == GapCause::epoch_lost)
      stage_.happened(Kind::claim_lost, site_, gap->begin, gap->end);
    stage_.accounts.gap(name(gap->sequence), gap->begin, gap->end);
  } else if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
    opened_[opened->token] = *opened;
  } else if (const auto* ended = std::get_if<ReturnClosed>(&entry)) {
    if (ended->how == ReturnEnd::returned) return;
    const ReturnOpened& open = opened_.at(ended->token);
    stage_.accounts.gap(name(open.sequence), open.begin, open.end);
    // A copy gives up what is not its own to ask for.
    if (ended->cause != GapCause::drained) return;
    stage_.accounts.kept(name(open.sequence), open.begin, open.end, ended->token);
  }
}

// Where counters are put back the floors are, too.
void LogMirror::check_floor(const Issued& issue) const {
  if (stage_.profile.spoils_counters()) return;
  const DefineSequence& definition = image_.sequences.at(issue.sequence).definition;
  const std::string& store = image_.scopes.at(definition.scope).store;
  if (failed_stores_.contains(store)) return;
  const std::string& key = stage_.accounts.counter_of(definition.name);
  const std::int64_t floor = stage_.floors.before(store, key, started_ms_);
  if (floor == 0) return;
  stage_.count(Kind::floor_known);
  if (issue.begin < floor)
    violation(std::to_string(issue.begin) + " of \"" + definition.name +
              "\" is issued below the floor, " + std::to_string(floor) +
              ", that was there before the start");
}

void LogMirror::enter(const Issued& issue) {
  check_floor(issue);
  const std::string& sequence = name(issue.sequence);
  std::int64_t& end = issued_end_[sequence];
  // What comes back lies anywhere.
  if (issue.begin < end && stage_.profile.reuse != Reuse::parked && !stage_.profile.blocks) {
    violation(std::to_string(issue.begin) + " of \"" + sequence + "\" is issued after " +
              std::to_string(end - 1));
  }
  end = issue.end;
  stage_.history.note("issued", site_, issue.begin, issue.end);
  stage_.accounts.issued(sequence, issue.begin, issue.end);
}

void LogMirror::ended() {
  if (!runs_) return;
  runs_ = false;
  // What was not handed to the log is gone with the process.
  if (!committing_) turn_.clear();
  committing_ = false;
  reserved_.clear();
  left_of_blocks_.clear();
  intents_.clear();
  claims_.clear();
  reservations_waiting_.clear();
  intents_waiting_.clear();
  claims_waiting_.clear();
}

// --- between two daemons

void LogMirror::destroy() {
  for (const LogEntry& entry : turn_) {
    if (const auto* issue = std::get_if<Issued>(&entry)) cut_off_.push_back(*issue);
  }
  for (const auto& [id, sequence] : image_.sequences) {
    const IntervalSet held = available_of(sequence);
    for (const auto& [begin, end] : held.intervals()) {
      stage_.accounts.destroyed(sequence.definition.name, begin, end);
    }
    if (sequence.intent) stage_.accounts.given_up(sequence.intent->lease);
  }
  turn_.clear();
  image_ = StateImage();
  known_ = false;
  // What is put there may be an earlier remainder that nobody has used since.
  issued_end_.clear();
}

bool LogMirror::has_issued(const Token& identity, std::uint32_t request) const {
  return std::any_of(image_.clients.begin(), image_.clients.end(), [&](const auto& one) {
    return one.second.identity == identity && by_request(one.second).contains(request);
  });
}

bool LogMirror::is_quiet() const {
  return std::all_of(turn_.begin(), turn_.end(), [](const LogEntry& entry) {
    return std::holds_alternative<StoreHeartbeat>(entry);
  });
}

bool LogMirror::has_anything() const {
  return std::any_of(image_.sequences.begin(), image_.sequences.end(), [](const auto& one) {
    const SequenceImage& sequence = one.second;
    return !sequence.ranges.empty() || !sequence.blocks.empty() || sequence.intent ||
           sequence.returning;
  });
}

void LogMirror::add_available(std::map<std::string, IntervalSet>& to) const {
  for (const auto& [id, sequence] : image_.sequences) {
    to[stage_.accounts.counter_of(sequence.definition.name)].add(available_of(sequence));
  }
}

}  // namespace seqd::sim

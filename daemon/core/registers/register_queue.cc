#include "daemon/core/registers/register_queue.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using Answer = RegisterAnswer::Kind;

// Why the record that decides on it is not known; OK: it is.
Status unreadable(const RegisterReading& reading, const RegisterQueue::Wanted& wanted) {
  const bool by_key = wanted.kind == RegisterQueue::Wanted::Kind::assign;
  for (const UnreadableNumber& each : reading.unreadable) {
    if (by_key ? each.key == wanted.key : each.key.empty() && each.number == wanted.number)
      return each.why;
  }
  return {};
}

bool had(const NumberRecord& record, const std::string& key) {
  return std::any_of(record.former.begin(), record.former.end(),
                     [&key](const FormerKey& former) { return former.key == key; });
}

}  // namespace

// Confirms and cancels come first, then free numbers, then new ones: a write ends at the first
// change that does not fit, and other hosts compete for new numbers alone.
struct RegisterQueue::Decision {
  const RegisterReading& reading;
  const SequenceSettings& settings;
  std::int64_t wall_ms = 0;
  std::int64_t next = 0;                          // the next new number
  std::size_t free = 0;                           // so many of reading.free were looked at
  std::map<std::string, std::size_t> keys{};      // to their records, of assigns
  std::map<std::int64_t, std::size_t> numbers{};  // the same, of the others
  std::map<std::string, Pending*> assigned{};     // in this round
  std::set<std::int64_t> changed{};               // the same
  std::vector<std::pair<RegisterChange, Pending*>> ends{}, refills{}, adds{};
};

RegisterQueue::RegisterQueue(const CoreContext& context, const SettingsSource& settings,
                             InsertAccounts& accounts, std::string name, RegisterStore& store,
                             Period period)
    : RequestQueue(context, accounts, std::move(name), "requests"),
      settings_(settings),
      store_(store),
      period_(std::move(period)) {}

Result<const SequenceSettings*> RegisterQueue::settings() const {
  const SequenceSettings* found = settings_.find(name());
  if (found == nullptr)
    return Status(ErrorCode::NO_SEQUENCE, "\"" + name() + "\" is not configured any more");
  return found;
}

Status RegisterQueue::add(Wanted wanted) {
  ASSERT(!wanted.key.empty());
  auto pending = std::make_unique<Pending>();
  pending->session = wanted.session;
  pending->bytes = wanted.key.size() + wanted.reason.size() + wanted.by.size();
  const UserId user = wanted.user;
  const std::int64_t timeout_ms = wanted.timeout_ms;
  pending->wanted = std::move(wanted);
  return RequestQueue::add(std::move(pending), user, timeout_ms);
}

// --- one round

void RegisterQueue::send(std::int64_t /*patience_ms*/) {
  // Not at once: that may be the end of the round.
  read_timer_.start(0, [this] { read(); });
}

void RegisterQueue::read() {
  Result<RegisterPlace> place = period_.place();
  if (!place.ok()) return failed(place.status());
  place_ = std::move(*place);
  RegisterQuery query;
  query.place = place_;
  for (const std::unique_ptr<Request>& request : sent()) {
    const Wanted& wanted = as_pending(*request).wanted;
    if (wanted.kind == Wanted::Kind::assign) {
      query.keys.push_back(wanted.key);
    } else {
      query.numbers.push_back(wanted.number);
    }
  }
  if (period_.may_refill) query.free = query.keys.size();
  store_.read_register(query, [this](const Result<RegisterReading>& reading) {
    if (!reading.ok()) return failed(reading.status());
    decide(*reading);
  });
}

void RegisterQueue::decide(const RegisterReading& reading) {
  const Result<const SequenceSettings*> found = settings();
  if (!found.ok()) return failed(found.status());
  Decision decision{.reading = reading, .settings = **found};
  decision.wall_ms = context_.clock.wall_ms();
  decision.next = reading.highest == 0 ? decision.settings.binding.first_id : reading.highest + 1;
  std::size_t key = 0;
  std::size_t number = 0;
  for (const std::unique_ptr<Request>& request : sent()) {
    const Wanted& wanted = as_pending(*request).wanted;
    if (wanted.kind == Wanted::Kind::assign) {
      decision.keys.emplace(wanted.key, key++);
    } else {
      decision.numbers.emplace(wanted.number, number++);
    }
  }
  ASSERT(key == reading.of_keys.size() && number == reading.of_numbers.size());
  for (const std::unique_ptr<Request>& request : sent()) {
    Pending& pending = as_pending(*request);
    pending.is_answered = pending.is_written = false;
    if (Status why = unreadable(reading, pending.wanted); !why.ok()) pending.refused = why;
    if (pending.session == 0 || !pending.refused.ok()) continue;
    if (pending.wanted.kind == Wanted::Kind::assign) {
      decide_assign(decision, pending);
    } else {
      decide_end(decision, pending);
    }
  }
  RegisterWrite write{place_, {}};
  for (auto* changes : {&decision.ends, &decision.refills, &decision.adds}) {
    for (auto& [change, pending] : *changes) {
      pending->is_written = true;
      pending->change = write.changes.size();
      write.changes.push_back(std::move(change));
    }
  }
  // Who asks for a key that another request of the round asks for.
  for (const std::unique_ptr<Request>& request : sent()) {
    Pending& pending = as_pending(*request);
    const auto other = decision.assigned.find(pending.wanted.key);
    if (pending.wanted.kind != Wanted::Kind::assign || other == decision.assigned.end() ||
        pending.session == 0)
      continue;
    pending.is_written = true;
    pending.change = other->second->change;
    pending.answer = other->second->answer;
  }
  if (write.changes.empty()) return end({RegisterOutcome::Kind::all, 0, {}});
  store_.write_register(write, [this](const RegisterOutcome& outcome) { end(outcome); });
}

void RegisterQueue::decide_assign(Decision& decision, Pending& pending) const {
  const RegisterReading& reading = decision.reading;
  const std::string& key = pending.wanted.key;
  if (const auto& record = reading.of_keys[decision.keys.at(key)]; record) {
    pending.is_answered = true;
    pending.answer = {Answer::done, *record};
    return;
  }
  if (decision.assigned.contains(key)) return;
  RegisterChange change;
  change.key = key;
  change.stamp = {decision.wall_ms, pending.wanted.by};
  NumberRecord record;
  while (!reading.closed && decision.free < reading.free.size()) {
    const NumberRecord& free = reading.free[decision.free];
    if (had(free, key)) break;  // another key may get it
    ++decision.free;
    if (!period_.may_refill(free, decision.wall_ms)) continue;
    record = free;
    break;
  }
  if (record.number != 0) {
    change.kind = RegisterChange::Kind::refill;
    change.former = record.former.size();
  } else if (reading.closed || decision.next > decision.settings.max_value) {
    pending.is_answered = true;
    pending.answer = {reading.closed ? Answer::closed : Answer::exhausted, {}};
    return;
  } else {
    record.period = place_.period;
    record.number = decision.next++;
    record.text = period_.text(record.number, decision.wall_ms);
    change.text = record.text;
  }
  change.number = record.number;
  record.state = NumberState::assigned;
  record.key = key;
  record.assigned = change.stamp;
  record.confirmed = {};
  pending.answer = {Answer::done, std::move(record)};
  decision.assigned.emplace(key, &pending);
  auto& changes = change.kind == RegisterChange::Kind::refill ? decision.refills : decision.adds;
  changes.emplace_back(std::move(change), &pending);
}

void RegisterQueue::decide_end(Decision& decision, Pending& pending) const {
  const Wanted& wanted = pending.wanted;
  const bool is_cancel = wanted.kind == Wanted::Kind::cancel;
  const auto& found = decision.reading.of_numbers[decision.numbers.at(wanted.number)];
  const bool is_its = found && found->key == wanted.key;
  if (!is_its || found->state != NumberState::assigned) {
    pending.is_answered = true;
    pending.answer = {Answer::no_key, {}};
    if (is_its) pending.answer = {is_cancel ? Answer::confirmed : Answer::done, *found};
    if (!is_its && found && had(*found, wanted.key))
      pending.answer = {is_cancel ? Answer::done : Answer::cancelled, *found};
    return;
  }
  // Two for one number: the second one is read again.
  if (!decision.changed.insert(wanted.number).second) return;
  RegisterChange change;
  change.kind = is_cancel ? RegisterChange::Kind::cancel : RegisterChange::Kind::confirm;
  change.number = wanted.number;
  change.key = wanted.key;
  change.reason = wanted.reason;
  change.stamp = {decision.wall_ms, wanted.by};
  change.free = is_cancel && period_.may_refill && !decision.reading.closed;
  NumberRecord record = *found;
  if (is_cancel) {
    record.former.push_back({record.key, record.assigned, change.stamp, change.reason});
    record.state = change.free ? NumberState::free : NumberState::voided;
    record.key.clear();
  } else {
    record.state = NumberState::confirmed;
    record.confirmed = change.stamp;
  }
  pending.answer = {Answer::done, std::move(record)};
  decision.ends.emplace_back(std::move(change), &pending);
}

void RegisterQueue::failed(const Status& error) {
  for (const std::unique_ptr<Request>& request : sent())
    as_pending(*request).is_answered = as_pending(*request).is_written = false;
  end({RegisterOutcome::Kind::failed, 0, error});
}

void RegisterQueue::end(const RegisterOutcome& outcome) {
  using Ended = RegisterOutcome::Kind;
  Round round;
  round.contended = outcome.kind == Ended::changed;
  // What may have been written is found by the next reading.
  round.failed = outcome.kind == Ended::failed || outcome.kind == Ended::unknown;
  if (round.failed) note_error(outcome.error);
  end_round(round, [&](Request& request, std::size_t /*at*/) {
    Pending& pending = as_pending(request);
    if (pending.is_answered || (pending.is_written && pending.change < outcome.done)) {
      round.any = true;
      pending.wanted.done(pending.answer);
      return false;
    }
    const bool is_next = pending.is_written && pending.change == outcome.done;
    if (is_next && round.contended) ++pending.tries;
    if (is_next && outcome.kind == Ended::refused) pending.refused = outcome.error;
    return pending.session != 0;
  });
}

Status RegisterQueue::too_late(const Request& request) const {
  if (!error().ok()) return error();
  return {ErrorCode::BUSY,
          request.tries > 0
              ? std::to_string(request.tries) + " times others changed the register \"" + name() +
                    "\" first; ask again, a key has one number however often it asks"
              : "the request waited for those before it for the whole time"};
}

}  // namespace seqd

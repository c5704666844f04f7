#include "daemon/core/registers/register_queue.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// A number that was cancelled for so many keys is void: its record has to stay readable.
constexpr std::size_t kMostFormer = 100;

using Answer = RegisterAnswer::Kind;

using Kind = RegisterQueue::Wanted::Kind;

bool is_end(const RegisterQueue::Wanted& wanted) {
  return wanted.kind == Kind::confirm || wanted.kind == Kind::cancel;
}

// What its round has to read.
bool by_key(const RegisterQueue::Wanted& wanted) {
  return wanted.kind == Kind::assign || (is_end(wanted) && wanted.number == 0);
}
bool by_number(const RegisterQueue::Wanted& wanted) {
  return is_end(wanted) && wanted.number != 0;
}

// Why the record that decides on it is not known; OK: it is.
Status unreadable(const RegisterReading& reading, const RegisterQueue::Wanted& wanted) {
  for (const UnreadableNumber& each : reading.unreadable) {
    const bool of_key = by_key(wanted) && each.key == wanted.key;
    const bool of_number = by_number(wanted) && each.key.empty() && each.number == wanted.number;
    if (of_key || of_number) return each.why;
  }
  return {};
}

bool had(const NumberRecord& record, const std::string& key) {
  return std::any_of(record.former.begin(), record.former.end(),
                     [&key](const FormerKey& former) { return former.key == key; });
}

// Of a number that was cancelled for the key. Another key that has it now is not shown.
RegisterAnswer answer_of_former(const NumberRecord& found, const RegisterQueue::Wanted& wanted) {
  NumberRecord record = found;
  if (!found.key.empty()) {
    std::erase_if(record.former,
                  [&wanted](const FormerKey& former) { return former.key != wanted.key; });
    record.state = NumberState::voided;
    record.key.clear();
    record.assigned = record.former.back().assigned;
    record.confirmed = {};
  }
  if (wanted.allowed && !wanted.allowed(record)) return {Answer::denied, {}};
  return {wanted.kind == Kind::cancel ? Answer::done : Answer::cancelled, std::move(record)};
}

}  // namespace

// Confirms and cancels come first, then free numbers, then new ones, then the end of the period: a
// write ends at the first change that does not fit, and other hosts compete for new numbers alone.
struct RegisterQueue::Decision {
  const RegisterReading& reading;
  const SequenceSettings& settings;
  std::int64_t wall_ms = 0;
  std::int64_t next = 0;                          // the next new number
  std::size_t free = 0;                           // so many of reading.free were looked at
  std::map<std::string, std::size_t> keys{};      // to their records
  std::map<std::int64_t, std::size_t> numbers{};  // the same
  std::map<std::string, Pending*> assigned{};     // in this round
  std::set<std::int64_t> changed{};               // the same
  // With whom is answered by it; null: more is needed.
  std::vector<std::pair<RegisterChange, Pending*>> ends{}, refills{}, adds{};
  std::vector<Pending*> closes{};

  const std::optional<NumberRecord>& record_for(const Wanted& wanted) const {
    return by_key(wanted) ? reading.of_keys[keys.at(wanted.key)]
                          : reading.of_numbers[numbers.at(wanted.number)];
  }
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
  const Status why = period_.stopped ? period_.stopped() : Status();
  return why.ok() ? Result<const SequenceSettings*>(found) : why;
}

Status RegisterQueue::add(Wanted wanted) {
  ASSERT(wanted.key.empty() == (wanted.kind == Kind::close || wanted.kind == Kind::raise));
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
    if (by_key(wanted)) query.keys.push_back(wanted.key);
    if (by_number(wanted)) query.numbers.push_back(wanted.number);
  }
  if (period_.may_refill) query.free = query.keys.size();
  query.newest_free = period_.refills_newest;
  store_.read_register(query, [this](const Result<RegisterReading>& reading) {
    if (!reading.ok()) return failed(reading.status());
    decide(*reading);
  });
}

void RegisterQueue::decide(const RegisterReading& reading) {
  const Result<const SequenceSettings*> found = settings();
  if (!found.ok()) return failed(found.status());
  const Status older = period_.reached ? period_.reached(reading.highest) : Status();
  if (!older.ok()) return failed(older);
  Decision decision{.reading = reading, .settings = **found};
  decision.wall_ms = context_.clock.wall_ms();
  decision.next = reading.highest == 0 ? decision.settings.binding.first_id : reading.highest + 1;
  std::size_t key = 0;
  std::size_t number = 0;
  for (const std::unique_ptr<Request>& request : sent()) {
    const Wanted& wanted = as_pending(*request).wanted;
    if (by_key(wanted)) decision.keys.emplace(wanted.key, key++);
    if (by_number(wanted)) decision.numbers.emplace(wanted.number, number++);
  }
  ASSERT(key == reading.of_keys.size() && number == reading.of_numbers.size());
  for (const std::unique_ptr<Request>& request : sent()) {
    Pending& pending = as_pending(*request);
    pending.is_answered = pending.is_written = false;
    if (Status why = unreadable(reading, pending.wanted); !why.ok()) pending.refused = why;
    if (pending.session == 0 || !pending.refused.ok()) continue;
    switch (pending.wanted.kind) {
      case Kind::assign:
        decide_assign(decision, pending);
        break;
      case Kind::confirm:
      case Kind::cancel:
        decide_end(decision, pending);
        break;
      case Kind::close:
        decision.closes.push_back(&pending);
        break;
      case Kind::raise:
        decide_raise(decision, pending);
        break;
    }
  }
  write(decision);
}

void RegisterQueue::write(Decision& decision) {
  changes_.clear();
  const auto add = [this](RegisterChange change, Pending* pending) {
    if (pending != nullptr) {
      pending->is_written = true;
      pending->change = changes_.size();
    }
    changes_.push_back(std::move(change));
  };
  for (auto* changes : {&decision.ends, &decision.refills, &decision.adds}) {
    for (auto& [change, pending] : *changes) add(std::move(change), pending);
  }
  for (Pending* const pending : decision.closes) {
    pending->answer.record = {};
    pending->answer.record.number = decision.next - 1;
    pending->is_answered = decision.reading.closed;
    if (pending->is_answered) continue;
    RegisterChange change;
    change.kind = RegisterChange::Kind::close;
    change.number = decision.next;
    change.stamp = {decision.wall_ms, pending->wanted.by};
    add(std::move(change), pending);
    break;  // others find it closed
  }
  // Who asks for a key that another request of the round asks for.
  for (const std::unique_ptr<Request>& request : sent()) {
    Pending& pending = as_pending(*request);
    const auto other = decision.assigned.find(pending.wanted.key);
    if (pending.wanted.kind != Kind::assign || other == decision.assigned.end() ||
        pending.session == 0)
      continue;
    pending.is_written = true;
    pending.change = other->second->change;
    pending.answer = other->second->answer;
  }
  if (changes_.empty()) return end({RegisterOutcome::Kind::all, 0, {}});
  store_.write_register({place_, changes_},
                        [this](const RegisterOutcome& outcome) { end(outcome); });
}

void RegisterQueue::decide_assign(Decision& decision, Pending& pending) const {
  const RegisterReading& reading = decision.reading;
  const std::string& key = pending.wanted.key;
  if (const auto& record = decision.record_for(pending.wanted); record) {
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

// In parts, where many are lost: the rest is of the next round.
void RegisterQueue::decide_raise(Decision& decision, Pending& pending) const {
  const Wanted& wanted = pending.wanted;
  const RegisterReading& reading = decision.reading;
  const bool has_all = reading.highest >= wanted.number ||
                       (reading.highest == 0 && decision.settings.binding.first_id > wanted.number);
  pending.answer = {reading.closed && !has_all ? Answer::closed : Answer::done, {}};
  pending.answer.record.number = reading.highest;
  pending.is_answered = reading.closed || has_all;
  if (pending.is_answered) return;
  for (std::size_t left = kMostRequests; left > 0 && decision.next <= wanted.number; --left) {
    RegisterChange change;
    change.number = decision.next++;
    change.text = period_.text(change.number, decision.wall_ms);
    change.reason = wanted.reason;
    change.stamp = {decision.wall_ms, wanted.by};
    const bool is_last = change.number == wanted.number;
    decision.adds.emplace_back(std::move(change), is_last ? &pending : nullptr);
  }
  pending.answer.record.number = wanted.number;
}

void RegisterQueue::decide_end(Decision& decision, Pending& pending) const {
  Wanted& wanted = pending.wanted;
  const bool is_cancel = wanted.kind == Kind::cancel;
  const auto& found = decision.record_for(wanted);
  const bool is_its = found && found->key == wanted.key;
  const bool is_here = is_its && found->period == place_.period;
  // Its assign is in this round.
  if (!found && by_key(wanted) && decision.assigned.contains(wanted.key)) return;
  if (!is_here || found->state != NumberState::assigned) {
    pending.is_answered = true;
    pending.answer = {Answer::no_key, {}};
    if (is_its) pending.answer = {is_cancel ? Answer::confirmed : Answer::done, *found};
    if (is_its && !is_here) pending.answer.kind = Answer::elsewhere;
    if (!is_its && found && had(*found, wanted.key))
      pending.answer = answer_of_former(*found, wanted);
    return;
  }
  if (wanted.allowed && !wanted.allowed(*found)) {
    pending.is_answered = true;
    pending.answer = {Answer::denied, *found};
    return;
  }
  // Two for one number: the second one is read again.
  if (!decision.changed.insert(found->number).second) return;
  // If the answer is lost, the key says no more which number it had.
  wanted.number = found->number;
  RegisterChange change;
  change.kind = is_cancel ? RegisterChange::Kind::cancel : RegisterChange::Kind::confirm;
  change.number = found->number;
  change.key = wanted.key;
  change.reason = wanted.reason;
  change.stamp = {decision.wall_ms, wanted.by};
  change.free = is_cancel && period_.may_refill && !decision.reading.closed &&
                found->former.size() < kMostFormer;
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
  changes_.clear();
  end({RegisterOutcome::Kind::failed, 0, error});
}

void RegisterQueue::end(const RegisterOutcome& outcome) {
  using Ended = RegisterOutcome::Kind;
  Round round;
  round.contended = outcome.kind == Ended::changed;
  // What may have been written is found by the next reading.
  round.failed = outcome.kind == Ended::failed || outcome.kind == Ended::unknown;
  if (round.failed) note_error(outcome.error);
  for (std::size_t at = 0; at < outcome.done && at < changes_.size(); ++at) {
    if (changes_[at].kind == RegisterChange::Kind::add && period_.reached)
      static_cast<void>(period_.reached(changes_[at].number));
  }
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

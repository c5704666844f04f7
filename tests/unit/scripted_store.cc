#include "tests/unit/scripted_store.h"

#include <algorithm>

namespace seqd {
namespace {

template <typename Script>
Script take(std::deque<Script>& scripts) {
  if (scripts.empty()) return {};
  Script script = scripts.front();
  scripts.pop_front();
  return script;
}

}  // namespace

void ScriptedStore::identify(const Token& /*candidate*/, std::function<void(Result<Token>)> done) {
  ++identity_calls;
  const IdentityScript script = take(identities);
  Result<Token> result = identity;
  if (script.kind == IdentityScript::Kind::failed) result = script.error;
  answers_.emplace_back([done = std::move(done), result] { done(result); });
}

BeatOutcome ScriptedStore::apply(const BeatRequest& request) {
  const auto found = heartbeats.find(request.instance);
  const std::int64_t beat = found == heartbeats.end() ? 0 : found->second;
  if (is_older(request.known, beat)) return {true, beat, {}};
  if (!request.raise || !epochs.contains(request.instance)) return {false, beat, {}};
  return {false, heartbeats[request.instance] = std::max(beat, request.known + 1), {}};
}

void ScriptedStore::beat(const BeatRequest& request,
                         std::function<void(Result<BeatOutcome>)> done) {
  beat_calls.push_back(request);
  const BeatScript script = take(beats);
  Result<BeatOutcome> result(script.error);
  if (script.kind == BeatScript::Kind::truth) result = apply(request);
  if (script.kind == BeatScript::Kind::copy)
    result = BeatOutcome{true, 0, {ErrorCode::SEQ_REGRESSED, "an older copy"}};
  (script.late ? late_ : answers_).emplace_back([done = std::move(done), result] { done(result); });
}

LeaseOutcome ScriptedStore::apply(const LeaseRequest& request) {
  LeaseOutcome outcome;
  if (apply(BeatRequest{request.instance, request.heartbeat, false}).older) {
    outcome.error = {ErrorCode::SEQ_REGRESSED, "the database is older"};
    outcome.restored = true;
    return outcome;
  }
  std::int64_t& next = next_id.try_emplace(request.binding.key, 1).first->second;
  const auto floor = floors.find(request.binding.key);
  if (next < request.high_water || (floor != floors.end() && next < floor->second)) {
    outcome.error = {ErrorCode::SEQ_REGRESSED, "the counter was set back"};
    return outcome;
  }
  std::map<std::int64_t, std::int64_t>& free = parked[request.binding.key];
  const bool takes_parked = request.take_parked && !free.empty();
  if (!takes_parked && next > request.max_value) {
    outcome.error = {ErrorCode::EXHAUSTED, "the counter has reached its end"};
    return outcome;
  }
  outcome.kind = LeaseOutcome::Kind::granted;
  if (takes_parked) {
    std::tie(outcome.begin, outcome.end) = *free.begin();
    outcome.parked = true;
    free.erase(free.begin());
    took_parked.insert(request.token);
  } else {
    outcome.begin = next;
    outcome.end = next + std::min(request.count, request.max_value - next + 1);
    next = outcome.end;
  }
  counted[request.binding.key].emplace_back(request.instance, outcome.end - outcome.begin);
  totals_since.try_emplace(request.binding.key, outcome.begin);
  ASSERT(granted.emplace(request.token, std::pair(outcome.begin, outcome.end)).second);
  return outcome;
}

void ScriptedStore::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  ASSERT(request.count >= 1);
  ASSERT(log_ == nullptr || log_->intent_is_durable(request.token));
  lease_calls.push_back(request);
  const LeaseScript script = take(leases);
  LeaseOutcome outcome;
  switch (script.kind) {
    case LeaseScript::Kind::grant:
      outcome = apply(request);
      break;
    case LeaseScript::Kind::refuse:
      outcome.error = script.error;
      outcome.contended = script.contended;
      break;
    case LeaseScript::Kind::unknown_applied:
    case LeaseScript::Kind::unknown_lost:
      if (script.kind == LeaseScript::Kind::unknown_applied) {
        LeaseRequest applied = request;
        applied.heartbeat = 0;  // it would have been compared behind the lease
        static_cast<void>(apply(applied));
      }
      outcome.kind = LeaseOutcome::Kind::unknown;
      outcome.error = script.error;
      break;
    case LeaseScript::Kind::wrong:
      outcome = {LeaseOutcome::Kind::granted, script.begin, script.end, {}};
      break;
  }
  (script.late ? late_ : answers_).emplace_back([done = std::move(done), outcome] {
    done(outcome);
  });
}

void ScriptedStore::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  ASSERT(log_ == nullptr || log_->intent_is_durable(request.token));
  resolve_calls.push_back(request);
  const ResolveScript script = take(resolutions);
  Resolution resolution;
  switch (script.kind) {
    case ResolveScript::Kind::truth: {
      const auto found = granted.find(request.token);
      resolution.kind =
          found == granted.end() ? Resolution::Kind::absent : Resolution::Kind::granted;
      if (found != granted.end()) std::tie(resolution.begin, resolution.end) = found->second;
      resolution.parked = took_parked.contains(request.token);
      if (apply(BeatRequest{request.instance, request.heartbeat, false}).older)
        resolution = {.error = {ErrorCode::SEQ_REGRESSED, "the database is older"},
                      .restored = true};
      break;
    }
    case ResolveScript::Kind::failed:
      resolution.error = script.error;
      break;
    case ResolveScript::Kind::untraceable:
      resolution.kind = Resolution::Kind::untraceable;
      break;
    case ResolveScript::Kind::wrong:
      resolution = {Resolution::Kind::granted, script.begin, script.end, {}};
      break;
  }
  answers_.emplace_back([done = std::move(done), resolution] { done(resolution); });
}

ClaimOutcome ScriptedStore::apply(const ClaimRequest& request) {
  const auto found = epochs.find(request.instance);
  const auto [epoch, nonce] =
      found == epochs.end() ? std::pair(std::uint64_t{0}, Token{}) : std::pair(found->second);
  if (epoch == request.epoch + 1 && nonce == request.nonce) return ClaimOutcome::won;
  if (epoch != request.epoch) return ClaimOutcome::lost;
  epochs[request.instance] = {request.epoch + 1, request.nonce};
  return ClaimOutcome::won;
}

void ScriptedStore::claim(const ClaimRequest& request,
                          std::function<void(Result<ClaimOutcome>)> done) {
  ASSERT(log_ == nullptr || log_->claim_is_durable(request.nonce));
  claim_calls.push_back(request);
  const ClaimScript script = take(claims);
  Result<ClaimOutcome> result = ClaimOutcome::lost;
  switch (script.kind) {
    case ClaimScript::Kind::truth:
      result = apply(request);
      break;
    case ClaimScript::Kind::failed_applied:
      static_cast<void>(apply(request));
      result = script.error;
      break;
    case ClaimScript::Kind::failed:
      result = script.error;
      break;
    case ClaimScript::Kind::lost:
      break;
  }
  answers_.emplace_back([done = std::move(done), result] { done(result); });
}

CounterReading ScriptedStore::apply(const ReadRequest& request) const {
  CounterReading reading;
  const auto counter = next_id.find(request.binding.key);
  if (counter == next_id.end()) return reading;
  reading.exists = true;
  reading.meaning =
      request.binding.meaning == Meaning::unset ? Meaning::last : request.binding.meaning;
  reading.next_id = counter->second;
  if (const auto floor = floors.find(request.binding.key); floor != floors.end())
    reading.floor = floor->second;
  const auto leased = counted.find(request.binding.key);
  if (leased == counted.end()) return reading;
  CounterReading::Totals totals;
  totals.since = totals_since.at(request.binding.key);
  for (const auto& [instance, ids] : leased->second) {
    ++totals.all.leases;
    totals.all.ids += ids;
    if (instance != request.instance) continue;
    ++totals.ours.leases;
    totals.ours.ids += ids;
  }
  reading.totals = totals;
  return reading;
}

void ScriptedStore::read(const ReadRequest& request,
                         std::function<void(Result<CounterReading>)> done) {
  read_calls.push_back(request);
  const ReadScript script = take(readings);
  Result<CounterReading> result = CounterReading{};
  if (script.kind == ReadScript::Kind::truth) {
    result = apply(request);
  } else {
    result = script.error;
  }
  answers_.emplace_back([done = std::move(done), result] { done(result); });
}

void ScriptedStore::advance(const AdvanceRequest& request,
                            std::function<void(Result<std::int64_t>)> done) {
  advance_calls.push_back(request);
  const AdvanceScript script = take(advances);
  Result<std::int64_t> result = script.error;
  if (script.kind == AdvanceScript::Kind::truth) {
    std::int64_t& next = next_id.try_emplace(request.binding.key, 1).first->second;
    result = next = std::max(next, request.next_id);
    if (request.withdraw) {
      floors[request.binding.key] = next;
      std::erase_if(parked[request.binding.key], [&](const auto& one) { return one.first < next; });
    }
  }
  answers_.emplace_back([done = std::move(done), result] { done(result); });
}

ReturnOutcome ScriptedStore::apply(const ReturnRequest& request) {
  ReturnOutcome outcome;
  if (apply(BeatRequest{request.instance, request.heartbeat, false}).older) {
    outcome.error = {ErrorCode::SEQ_REGRESSED, "the database is older"};
    outcome.restored = true;
    return outcome;
  }
  outcome.kind = ReturnOutcome::Kind::kept;
  outcome.error = {ErrorCode::STORE_REFUSED, "it is not taken back"};
  std::int64_t& next = next_id.try_emplace(request.binding.key, 1).first->second;
  const bool possible =
      next == request.end || (request.reuse == Reuse::parked && next > request.end);
  const auto [found, fresh] = returned.try_emplace(request.token, !request.give_up && possible);
  if (!found->second) return outcome;
  outcome = {ReturnOutcome::Kind::returned, {}};
  if (!fresh) return outcome;
  counted[request.binding.key].emplace_back(request.instance, request.begin - request.end);
  if (request.reuse == Reuse::tail) {
    next = request.begin;
  } else {
    ASSERT(parked[request.binding.key].emplace(request.begin, request.end).second);
  }
  return outcome;
}

void ScriptedStore::return_range(const ReturnRequest& request,
                                 std::function<void(ReturnOutcome)> done) {
  ASSERT(log_ == nullptr || log_->intent_is_durable(request.token));
  return_calls.push_back(request);
  const ReturnScript script = take(returns);
  ReturnOutcome outcome;
  if (script.kind != ReturnScript::Kind::failed_lost) outcome = apply(request);
  if (script.kind != ReturnScript::Kind::truth && !outcome.restored) {
    outcome = {ReturnOutcome::Kind::failed, script.error, script.contended};
  }
  answers_.emplace_back([done = std::move(done), outcome] { done(outcome); });
}

void ScriptedStore::forget(const ForgetRequest& request,
                           std::function<void(Result<InstanceRecords>)> done) {
  forget_calls.push_back(request);
  const ForgetScript script = take(forgets);
  InstanceRecords records;
  records.entry = epochs.contains(request.instance);
  for (const auto& [key, grants] : counted) {
    records.records += std::count_if(grants.begin(), grants.end(), [&](const auto& lease) {
      return lease.first == request.instance;
    });
  }
  const bool applied = script.kind != ForgetScript::Kind::failed_lost;
  if (applied && !request.only_look && request.entry) epochs.erase(request.instance);
  Result<InstanceRecords> answer(records);
  if (script.kind != ForgetScript::Kind::truth) answer = Result<InstanceRecords>(script.error);
  answers_.emplace_back([done = std::move(done), answer] { done(answer); });
}

bool ScriptedStore::give_oldest(std::deque<std::function<void()>>& answers) {
  if (answers.empty()) return false;
  const std::function<void()> answer = std::move(answers.front());
  answers.pop_front();
  answer();
  return true;
}

bool ScriptedStore::deliver() {
  return give_oldest(answers_);
}

bool ScriptedStore::deliver_late() {
  return give_oldest(late_);
}

}  // namespace seqd

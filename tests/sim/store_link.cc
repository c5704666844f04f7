#include "tests/sim/store_link.h"

#include <tuple>
#include <utility>

namespace seqd::sim {
namespace {

const Status kAway(ErrorCode::UNAVAILABLE, "the store does not answer");
const Status kDenied(ErrorCode::STORE_REFUSED, "the store does not want to");
const Status kMissing(ErrorCode::SEQ_REGRESSED, "the counter is missing");

}  // namespace

template <typename Outcome>
void StoreLink::make(Call<Outcome> call) {
  SeededRandom& random = stage_.random;
  const Profile& profile = stage_.profile;
  const std::int64_t timeout_ms = random.between(200, 1'000);
  // Whoever answers first, the store or the driver that gives up.
  const auto done = std::make_shared<std::function<void(Outcome)>>(std::move(call.done));
  const auto answer = [later = owner_.later(), done](std::int64_t delay_ms,
                                                     const Outcome& outcome) {
    later(delay_ms, [done, outcome] {
      if (!*done) return;
      std::exchange(*done, nullptr)(outcome);
    });
  };
  const auto fail = [this, later = owner_.later(), done](std::int64_t delay_ms,
                                                         const Outcome& outcome) {
    later(delay_ms, [this, done, outcome] {
      if (!*done) return;
      owner_.store_failed(name());
      std::exchange(*done, nullptr)(outcome);
    });
  };
  const auto strikes = [&](std::int64_t rate) { return !stage_.calm && random.chance(rate); };
  if (strikes(profile.refusals)) {
    stage_.happened(Kind::refused, owner_.number());
    return fail(random.between(0, 20), call.refused);
  }
  if (strikes(profile.denials)) {
    stage_.happened(Kind::denied, owner_.number());
    return fail(random.between(0, 20), call.denied);
  }
  fail(timeout_ms, call.unknown);
  if (strikes(profile.lost_requests)) return stage_.happened(Kind::request_lost, owner_.number());
  std::int64_t delay_ms = random.between(0, 6);
  if (strikes(profile.late_requests)) {
    delay_ms = timeout_ms + random.between(1, 3'000);
    stage_.happened(Kind::applied_late, owner_.number(), delay_ms);
  }
  const bool reply_lost = strikes(profile.lost_replies);
  if (reply_lost) stage_.happened(Kind::reply_lost, owner_.number());
  const std::int64_t way_back_ms = random.between(0, 6);
  stage_.after(delay_ms, [&database = database_, apply = std::move(call.apply), answer, reply_lost,
                          way_back_ms] {
    if (!database.available()) return;
    apply([answer, reply_lost, way_back_ms](const Outcome& outcome) {
      if (!reply_lost) answer(way_back_ms, outcome);
    });
  });
}

void StoreLink::of_the_former(const char* what) {
  if (elsewhere_)
    stage_.history.violation(std::string("another database is asked for ") + what +
                             " of the former one");
}

template <typename Outcome>
bool StoreLink::refuse_elsewhere(const std::function<void(Outcome)>& done, const Outcome& refused) {
  if (!elsewhere_) return false;
  owner_.store_failed(name());
  owner_.later()(stage_.random.between(0, 20), [done, refused] { done(refused); });
  return true;
}

template <typename Outcome>
bool StoreLink::refuse_missing(const CounterBinding& binding,
                               const std::function<void(Outcome)>& done, const Outcome& refused) {
  if (owner_.is_home(name(), binding.key)) return false;
  stage_.count(Kind::moved_away);
  owner_.later()(stage_.random.between(0, 20), [done, refused] { done(refused); });
  return true;
}

void StoreLink::leaves(const std::string& sequence) {
  if (!under_way_.insert(sequence).second) {
    stage_.history.violation("a second lease of \"" + sequence + "\" is under way");
  }
}

void StoreLink::knows_the_heartbeat(const LeaseRequest& request) {
  const StoreHeartbeat known = owner_.heartbeat(name());
  if (known.instance == request.instance && request.heartbeat < known.beat)
    stage_.history.violation("a lease is asked for without the heartbeat that the log knows");
}

void StoreLink::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) {
  note("lease", request.binding, request.token, request.instance, request.sequence, request.count,
       request.high_water, request.max_value, request.take_parked, request.heartbeat);
  of_the_former("IDs");
  leaves(request.sequence);
  if (!owner_.intent_is_durable(request.token)) {
    stage_.history.violation("a lease is requested before its intent is durable");
  }
  knows_the_heartbeat(request);
  LeaseOutcome missing;
  missing.error = request.high_water > 0 ? kMissing : kDenied;
  const auto over = [this, request, done](const LeaseOutcome& out) {
    under_way_.erase(request.sequence);
    done(out);
  };
  if (refuse_missing<LeaseOutcome>(request.binding, over, missing)) return;
  if (stage_.accounts.counter_of(request.sequence) != request.sequence)
    stage_.count(Kind::counter_shared);
  Call<LeaseOutcome> call;
  const bool twice = !stage_.calm && stage_.random.chance(stage_.profile.applied_twice);
  call.apply = [&database = database_, request,
                twice](const std::function<void(LeaseOutcome)>& answer) {
    database.lease(request, answer);
    if (twice) database.apply_again(request);
  };
  call.unknown.kind = LeaseOutcome::Kind::unknown;
  // A store may say of what it may have applied why it is refused.
  call.unknown.error = stage_.random.below(4) == 0 ? kDenied : kAway;
  call.refused.error = kAway;
  call.denied.error = kDenied;
  call.done = [this, request, done = std::move(done)](LeaseOutcome out) {
    under_way_.erase(request.sequence);
    make_reappear(out, request);
    done(out);
  };
  make(std::move(call));
}

// Somebody has put back the records of returned ranges. Only what the daemon can notice: it has
// some of it. What it was granted in truth it gives up.
void StoreLink::make_reappear(LeaseOutcome& outcome, const LeaseRequest& request) {
  if (outcome.kind != LeaseOutcome::Kind::granted || !request.take_parked || stage_.calm) return;
  if (!stage_.random.chance(stage_.profile.reappearing)) return;
  const auto held = owner_.held_of(request.sequence);
  if (!held) return;
  stage_.happened(Kind::reappeared, owner_.number(), held->first, held->second);
  std::tie(outcome.begin, outcome.end) = *held;
  outcome.parked = true;
}

void StoreLink::resolve(const LeaseRequest& request, std::function<void(Resolution)> done) {
  note("resolve", request.binding, request.token, request.instance, request.sequence, request.count,
       request.high_water, request.max_value, request.take_parked, request.heartbeat);
  of_the_former("a lease");
  leaves(request.sequence);
  knows_the_heartbeat(request);
  Call<Resolution> call;
  call.apply = [&database = database_, request](const std::function<void(Resolution)>& answer) {
    database.resolve(request, answer);
  };
  call.unknown.error = call.refused.error = kAway;
  call.denied.error = kDenied;
  call.done = [this, name = request.sequence, done = std::move(done)](const Resolution& out) {
    under_way_.erase(name);
    done(out);
  };
  make(std::move(call));
}

void StoreLink::return_range(const ReturnRequest& request,
                             std::function<void(ReturnOutcome)> done) {
  note("return", request.binding, request.token, request.instance, request.sequence, request.begin,
       request.end, static_cast<int>(request.reuse), request.give_up, request.heartbeat);
  of_the_former("a return");
  leaves(request.sequence);
  if (!owner_.intent_is_durable(request.token)) {
    stage_.history.violation("a range is returned before the record that drops it is durable");
  }
  Call<ReturnOutcome> call;
  call.apply = [&database = database_, request](const std::function<void(ReturnOutcome)>& answer) {
    database.return_range(request, answer);
  };
  call.unknown.error = call.refused.error = kAway;
  call.denied.error = kDenied;
  call.done = [this, name = request.sequence, done = std::move(done)](const ReturnOutcome& out) {
    under_way_.erase(name);
    done(out);
  };
  make(std::move(call));
}

void StoreLink::forget(const ForgetRequest& request,
                       std::function<void(Result<InstanceRecords>)> done) {
  note("forget", request.instance, request.slots.size(), request.entry, request.only_look);
  if (refuse_elsewhere(done, Result<InstanceRecords>(kAway))) return;
  make(Call<Result<InstanceRecords>>{
      [&database = database_, request](const std::function<void(Result<InstanceRecords>)>& answer) {
        database.forget(request, answer);
      },
      std::move(done), kAway, kAway, kDenied});
}

void StoreLink::claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) {
  note("claim", request.instance, request.epoch, request.nonce, request.resumes);
  if (request.epoch > 0) of_the_former("the remainder");
  if (refuse_elsewhere(done, Result<ClaimOutcome>(kAway))) return;
  if (!owner_.claim_is_durable(request.nonce)) {
    stage_.history.violation("an epoch is claimed before the claim is durable");
  }
  make(Call<Result<ClaimOutcome>>{
      [&database = database_, request](const std::function<void(Result<ClaimOutcome>)>& answer) {
        database.claim(request, answer);
      },
      std::move(done), kAway, kAway, kDenied});
}

void StoreLink::identify(const Token& candidate, std::function<void(Result<Token>)> done) {
  note("identify", candidate);
  make(Call<Result<Token>>{[&database = database_, elsewhere = elsewhere_](
                               const std::function<void(Result<Token>)>& answer) {
                             Token identity = database.identity();
                             if (elsewhere) identity[1] = 1;
                             answer(identity);
                           },
                           std::move(done), kAway, kAway, kDenied});
}

void StoreLink::beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) {
  note("beat", request.instance, request.known, request.raise);
  if (refuse_elsewhere(done, Result<BeatOutcome>(kAway))) return;
  // One that was sent before a copy came in place, and raised its heartbeat, would hide it from a
  // daemon that has gone on since: see decision 121.
  make(Call<Result<BeatOutcome>>{[&database = database_, request, sent_to = database_.copies()](
                                     const std::function<void(Result<BeatOutcome>)>& answer) {
                                   if (request.raise && database.copies() != sent_to)
                                     return answer(kAway);
                                   database.beat(request, answer);
                                 },
                                 std::move(done), kAway, kAway, kDenied});
}

void StoreLink::read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) {
  note("read", request.binding, request.instance);
  if (refuse_elsewhere(done, Result<CounterReading>(kAway))) return;
  if (refuse_missing(request.binding, done, Result<CounterReading>(kDenied))) return;
  const auto over = [this, done = std::move(done)](const Result<CounterReading>& out) {
    // Nobody can read a floor there.
    if (out.status().code() == ErrorCode::SEQ_TYPE) owner_.store_failed(name());
    done(out);
  };
  make(Call<Result<CounterReading>>{
      [&database = database_, request](const std::function<void(Result<CounterReading>)>& answer) {
        const Status wrong = database.check_type(request.binding.key);
        if (!wrong.ok()) return answer(wrong);
        answer(database.read(request.binding.key));
      },
      over, kAway, kAway, kDenied});
}

void StoreLink::advance(const AdvanceRequest& request,
                        std::function<void(Result<std::int64_t>)> done) {
  note("advance", request.binding, request.next_id, request.withdraw);
  if (refuse_elsewhere(done, Result<std::int64_t>(kAway))) return;
  if (refuse_missing(request.binding, done, Result<std::int64_t>(kDenied))) return;
  make(Call<Result<std::int64_t>>{
      [&database = database_, request](const std::function<void(Result<std::int64_t>)>& answer) {
        const Status wrong = database.check_type(request.binding.key);
        if (!wrong.ok()) return answer(wrong);
        database.advance(request, answer);
      },
      std::move(done), kAway, kAway, kDenied});
}

void StoreLink::find_counters(const CounterQuery& query,
                              std::function<void(Result<CounterPage>)> done) {
  note("find", query.binding, query.after, query.limit);
  if (refuse_elsewhere(done, Result<CounterPage>(kAway))) return;
  make(Call<Result<CounterPage>>{
      [&database = database_, query](const std::function<void(Result<CounterPage>)>& answer) {
        answer(database.find_counters(query));
      },
      std::move(done), kAway, kAway, kDenied});
}

void StoreLink::remove_counters(const CounterRemoval& removal,
                                std::function<void(std::vector<RemovalOutcome>)> done) {
  note("remove", removal.binding, removal.counters.size());
  using Outcomes = std::vector<RemovalOutcome>;
  const auto all_fail = [&](const Status& why) {
    return Outcomes(1, {RemovalOutcome::Kind::failed, why});
  };
  if (refuse_elsewhere(done, all_fail(kAway))) return;
  make(
      Call<Outcomes>{[&database = database_, removal](const std::function<void(Outcomes)>& answer) {
                       database.remove_counters(removal, answer);
                     },
                     std::move(done), all_fail(kAway), all_fail(kAway), all_fail(kDenied)});
}

}  // namespace seqd::sim

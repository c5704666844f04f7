#include "tests/sim/database.h"

#include <algorithm>
#include <utility>

namespace seqd::sim {

void Database::write(std::function<void()> undo, std::function<void()> committed) {
  written_to_ = true;
  uncommitted_.push_back({++writes_, std::move(undo), std::move(committed)});
  const bool lags = stage_.time.monotonic_ms() < lags_until_ms_;
  const std::int64_t delay_ms =
      lags ? stage_.random.between(100, 900) : stage_.random.between(0, 4);
  stage_.after(delay_ms, [this, number = writes_] { commit(number); });
}

void Database::commit(std::uint64_t number) {
  while (!uncommitted_.empty() && uncommitted_.front().number <= number) {
    const Write write = std::move(uncommitted_.front());
    uncommitted_.pop_front();
    write.committed();
  }
}

void Database::commit_all() {
  commit(writes_);
}

// Whoever has leased above the counter hears that it went back, and from some stores hears it only
// after the increment. One who cannot know is not asked to: the operator is assumed to have put the
// counter right before such a host leases.
LeaseOutcome Database::judge(const LeaseRequest& request) {
  Counter& counter = counters_[request.binding.key];
  LeaseOutcome outcome;
  outcome.error = check_type(request.binding.key);
  if (!outcome.error.ok()) return outcome;
  const std::int64_t next = counter.exists ? counter.next : 1;
  if (next < counter.high || !counter.exists) {
    const bool may_know = request.high_water > next || (!counter.exists && request.high_water > 0);
    if (may_know && (!counter.exists || stage_.random.below(2) == 0)) {
      stage_.happened(Kind::regression_refused, 0, next, request.high_water);
      outcome.error = {ErrorCode::SEQ_REGRESSED, "the counter was set back"};
      return outcome;
    }
    if (!may_know && counter.high > 1) repair(counter);
  }
  if (counter.next > request.max_value) {
    stage_.happened(Kind::exhausted, 0, counter.next);
    outcome.error = {ErrorCode::EXHAUSTED, "the counter has reached its end"};
    return outcome;
  }
  if (!counter.exists && purged_.contains(request.binding.key))
    stage_.history.violation("\"" + request.binding.key + "\" was purged, and is started again");
  outcome.kind = LeaseOutcome::Kind::granted;
  outcome.begin = counter.next;
  outcome.end = counter.next + std::min(request.count, request.max_value - counter.next + 1);
  return outcome;
}

void Database::lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> answer) {
  if (keeps_tokens_) {
    const auto known = leases_.find(request.token);
    if (known != leases_.end()) {
      LeaseOutcome outcome;
      outcome.error = {ErrorCode::STORE_REFUSED, "the token was used, or made void"};
      if (known->second.begin == known->second.end) stage_.count(Kind::late_refused);
      answer(outcome);
      return;
    }
  }
  if (meets_older_copy(request.instance, request.heartbeat)) {
    LeaseOutcome older;
    if (stage_.random.below(2) == 0) older.kind = LeaseOutcome::Kind::unknown;
    older.error = {ErrorCode::SEQ_REGRESSED, "the database is an older copy"};
    older.restored = true;
    return answer(older);
  }
  LeaseOutcome outcome = judge(request);
  if (outcome.kind != LeaseOutcome::Kind::granted) {
    answer(outcome);
    return;
  }
  const std::string key = request.binding.key;
  if (keeps_tokens_ && request.take_parked) {
    if (auto put_back = take_parked(request, outcome)) {
      leases_[request.token] = {outcome.begin, outcome.end, request.instance};
      write(std::move(put_back),
            [this, key, outcome, token = request.token, answer = std::move(answer)] {
              stage_.accounts.granted(key, outcome.begin, outcome.end, token);
              answer(outcome);
            });
      return;
    }
  }
  const bool regressed = outcome.begin < counters_[key].high;
  if (regressed) stage_.happened(Kind::regression_granted, 0, outcome.begin, request.high_water);
  if (keeps_tokens_) leases_[request.token] = {outcome.begin, outcome.end, request.instance};
  write(
      [this, token = request.token, move_back = move_counter(key, outcome)] {
        move_back();
        leases_.erase(token);
      },
      [this, key, outcome, regressed, token = request.token, answer = std::move(answer)] {
        // Late, and its void was lost with the former database: nobody waits for it. What was
        // granted before is whose it was.
        if (!regressed && voided_.contains(token)) {
          stage_.accounts.granted_elsewhere(key, outcome.begin, outcome.end);
        } else if (!regressed) {
          stage_.accounts.granted(key, outcome.begin, outcome.end, token);
        }
        answer(outcome);
      });
}

std::function<void()> Database::move_counter(const std::string& key, const LeaseOutcome& grant) {
  Counter& counter = counters_[key];
  const Counter before = counter;
  counter = {true, grant.end, std::max(before.high, grant.end), before.floor};
  return [this, key, before] { counters_[key] = before; };
}

void Database::apply_again(const LeaseRequest& request) {
  if (keeps_tokens_) return;
  const LeaseOutcome outcome = judge(request);
  const std::string key = request.binding.key;
  if (outcome.kind != LeaseOutcome::Kind::granted || outcome.begin < counters_[key].high) return;
  stage_.happened(Kind::applied_twice, 0, outcome.begin, outcome.end);
  write(move_counter(key, outcome), [this, key, outcome] {
    stage_.accounts.granted_elsewhere(key, outcome.begin, outcome.end);
  });
}

void Database::resolve(const LeaseRequest& request, std::function<void(Resolution)> answer) {
  Resolution resolution;
  if (!keeps_tokens_) {
    resolution.kind = Resolution::Kind::untraceable;
    answer(resolution);
    return;
  }
  if (meets_older_copy(request.instance, request.heartbeat))
    return answer(
        {.error = {ErrorCode::SEQ_REGRESSED, "the database is an older copy"}, .restored = true});
  const auto [found, made] = leases_.try_emplace(request.token, Lease{0, 0, request.instance});
  resolution.kind = Resolution::Kind::absent;
  const bool granted = !made && found->second.begin < found->second.end;
  if (granted) {
    resolution = {Resolution::Kind::granted, found->second.begin, found->second.end, {}};
    resolution.parked = took_parked_.contains(request.token);
  }
  write(
      [this, made = made, token = request.token] {
        if (made) leases_.erase(token);
      },
      [this, resolution, granted, token = request.token, answer = std::move(answer)] {
        if (!granted) voided_.insert(token);
        answer(resolution);
      });
}

// Null when nothing is parked, or the counter is not where it should be.
std::function<void()> Database::take_parked(const LeaseRequest& request, LeaseOutcome& grant) {
  const std::string key = request.binding.key;
  std::map<std::int64_t, std::int64_t>& parked = parked_[key];
  const Counter& counter = counters_[key];
  if (parked.empty() || !counter.exists || counter.next < counter.high) return nullptr;
  std::tie(grant.begin, grant.end) = *parked.begin();
  grant.parked = true;
  parked.erase(parked.begin());
  took_parked_.insert(request.token);
  stage_.happened(Kind::parked_taken, 0, grant.begin, grant.end);
  return [this, key, grant, token = request.token] {
    leases_.erase(token);
    parked_[key][grant.begin] = grant.end;
  };
}

// Null when it cannot be applied.
std::function<void()> Database::apply(const ReturnRequest& request) {
  const std::string key = request.binding.key;
  Counter& counter = counters_[key];
  const bool tail = request.reuse == Reuse::tail;
  if (!check_type(key).ok()) return nullptr;
  if (request.give_up || !counter.exists || counter.next < counter.high) return nullptr;
  if (counter.next < request.end || (tail && counter.next != request.end)) return nullptr;
  if (request.begin < counter.floor) {
    stage_.count(Kind::below_the_floor);
    return nullptr;
  }
  if (!tail) {
    parked_[key][request.begin] = request.end;
    return [this, key, begin = request.begin] { parked_[key].erase(begin); };
  }
  const Counter before = counter;
  counter.next = counter.high = request.begin;
  return [this, key, before] { counters_[key] = before; };
}

void Database::return_range(const ReturnRequest& request,
                            std::function<void(ReturnOutcome)> answer) {
  ReturnOutcome outcome;
  if (meets_older_copy(request.instance, request.heartbeat)) {
    outcome.error = {ErrorCode::SEQ_REGRESSED, "the database is an older copy"};
    outcome.restored = true;
    return answer(outcome);
  }
  outcome.kind = ReturnOutcome::Kind::kept;
  outcome.error = {ErrorCode::STORE_REFUSED, "it is not taken back"};
  if (!keeps_tokens_) return answer(outcome);
  const auto [found, made] = returns_.try_emplace(
      request.token, Return{false, request.instance, request.binding.key, request.begin});
  std::function<void()> undo = [] {};
  if (made) {
    if (auto applied = apply(request)) {
      found->second.applied = true;
      undo = std::move(applied);
    }
  }
  const bool applied = found->second.applied;
  if (applied) outcome = {ReturnOutcome::Kind::returned, {}};
  if (!made) stage_.count(applied ? Kind::return_repeated : Kind::return_refused);
  write(
      [this, made = made, token = request.token, undo = std::move(undo)] {
        undo();
        if (made) returns_.erase(token);
      },
      [this, request, outcome, fresh = made && applied, answer = std::move(answer)] {
        if (fresh) {
          stage_.happened(Kind::returned, 0, request.begin, request.end);
          stage_.accounts.returned(request.binding.key, request.begin, request.end, request.token);
        }
        answer(outcome);
      });
}

void Database::claim(const ClaimRequest& request, std::function<void(ClaimOutcome)> answer) {
  Epoch& epoch = epochs_[request.instance];
  const Epoch before = epoch;
  ClaimOutcome outcome = ClaimOutcome::lost;
  if (epoch.number == request.epoch + 1 && epoch.nonce == request.nonce) {
    outcome = ClaimOutcome::won;
  } else if (epoch.number == request.epoch) {
    epoch = {request.epoch + 1, request.nonce};
    outcome = ClaimOutcome::won;
  }
  write([this, before, instance = request.instance] { epochs_[instance] = before; },
        [outcome, answer = std::move(answer)] { answer(outcome); });
}

void Database::beat(const BeatRequest& request, std::function<void(BeatOutcome)> answer) {
  std::int64_t& beat = heartbeats_[request.instance];
  if (meets_older_copy(request.instance, request.known)) return answer({true, beat, {}});
  if (!request.raise || epochs_[request.instance].number == 0) return answer({false, beat, {}});
  const std::int64_t before = beat;
  beat = std::max(beat, request.known + 1);
  write([this, before, instance = request.instance] { heartbeats_[instance] = before; },
        [beat, answer = std::move(answer)] {
          answer({false, beat, {}});
        });
}

void Database::forget(const ForgetRequest& request, std::function<void(InstanceRecords)> answer) {
  const Epoch before = epochs_[request.instance];
  const InstanceRecords records{before.number > 0, 0};
  if (request.entry && !request.only_look) epochs_[request.instance] = {};
  write([this, before, instance = request.instance] { epochs_[instance] = before; },
        [records, answer = std::move(answer)] { answer(records); });
}

CounterReading Database::read(const std::string& key) {
  commit_all();
  const Counter& counter = counters_[key];
  CounterReading reading;
  reading.exists = counter.exists;
  if (counter.exists) reading.next_id = counter.next;
  if (counter.exists) reading.floor = counter.floor;
  return reading;
}

// Whoever advances for every host knows what was taken.
void Database::advance(const AdvanceRequest& request, std::function<void(std::int64_t)> answer) {
  const std::string key = request.binding.key;
  Counter& counter = counters_[key];
  const Counter before = counter;
  std::map<std::int64_t, std::int64_t> parked;
  const auto purged = purged_.find(key);
  if (purged != purged_.end()) counter.high = purged->second;
  const std::int64_t next = std::max({counter.next, counter.high, request.next_id});
  counter = {true, next, next, request.withdraw ? next : before.floor};
  if (request.withdraw) parked.swap(parked_[key]);
  write(
      [this, before, key, parked] {
        counters_[key] = before;
        parked_[key].insert(parked.begin(), parked.end());
      },
      [this, key, next, withdraw = request.withdraw, answer = std::move(answer)] {
        if (withdraw) stage_.floors.raise(name(), key, next, stage_.time.monotonic_ms());
        answer(next);
      });
}

CounterPage Database::find_counters(const CounterQuery& query) {
  commit_all();
  CounterPage page;
  page.clock_s = stage_.wall_ms() / 1'000;
  for (auto at = counters_.upper_bound(std::max(query.after, query.form.before));
       at != counters_.end() && at->first.starts_with(query.form.before); ++at) {
    page.more = page.counters.size() == query.limit;
    if (page.more) break;
    const Counter& counter = at->second;
    page.after = at->first;
    if (counter.exists) page.counters.push_back({at->first, counter.next, counter.next - 1, {}});
  }
  return page;
}

void Database::remove_counters(const CounterRemoval& removal,
                               std::function<void(std::vector<RemovalOutcome>)> answer) {
  std::vector<RemovalOutcome> outcomes;
  for (const FoundCounter& found : removal.counters) {
    const bool removed = purge(found);
    outcomes.push_back(
        {removed ? RemovalOutcome::Kind::removed : RemovalOutcome::Kind::changed, {}});
  }
  write([] {}, [outcomes, answer = std::move(answer)] { answer(outcomes); });
}

bool Database::purge(const FoundCounter& found) {
  const std::string key = found.key;
  const Counter before = counters_[key];
  if (!before.exists || before.next != found.number) return false;
  stage_.happened(Kind::counter_purged, 0, before.next);
  std::map<std::int64_t, std::int64_t> parked;
  parked.swap(parked_[key]);
  counters_.erase(key);
  purged_[key] = before.high;
  write(
      [this, key, before, parked] {
        counters_[key] = before;
        parked_[key] = parked;
        purged_.erase(key);
      },
      [] {});
  return true;
}

}  // namespace seqd::sim

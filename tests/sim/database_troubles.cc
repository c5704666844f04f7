// Of Database: fail-overs, other writers, spoilt counters, and older copies that are put in place.
#include <algorithm>
#include <utility>

#include "tests/sim/database.h"

namespace seqd::sim {

void Database::begin_fail_over() {
  const std::int64_t lag_ms = stage_.random.between(20, 600);
  lags_until_ms_ = stage_.time.monotonic_ms() + lag_ms;
  stage_.after(lag_ms, [this] { fail_over(); });
}

void Database::fail_over() {
  stage_.happened(Kind::fail_over, 0, static_cast<std::int64_t>(uncommitted_.size()));
  while (!uncommitted_.empty()) {
    stage_.count(Kind::rolled_back);
    uncommitted_.back().undo();
    uncommitted_.pop_back();
  }
  if (!stage_.calm) be_down(stage_.random.between(5, 2'000));
}

// --- counters

void Database::take_elsewhere(const std::string& key, std::int64_t count) {
  const Counter before = counters_[key];
  if (!before.exists || before.next < before.high) return;
  stage_.happened(Kind::foreign_write, 0, before.next, count);
  const std::int64_t end = before.next + count;
  counters_[key] = {true, end, end, before.floor};
  write([this, key, before] { counters_[key] = before; },
        [this, key, before, end] { stage_.accounts.granted_elsewhere(key, before.next, end); });
}

void Database::lower(const std::string& key) {
  commit_all();
  Counter& counter = counters_[key];
  if (!counter.exists || counter.next < 3) return;
  counter.next -= stage_.random.between(1, std::min<std::int64_t>(counter.next - 1, 2'000));
  stage_.happened(Kind::counter_lowered, 0, counter.next, counter.high);
}

void Database::remove(const std::string& key) {
  commit_all();
  Counter& counter = counters_[key];
  if (!counter.exists) return;
  stage_.happened(Kind::counter_deleted, 0, counter.high);
  counter.exists = false;
  counter.next = 1;
}

void Database::repair(Counter& counter) {
  stage_.happened(Kind::counter_repaired, 0, counter.high);
  counter.exists = true;
  counter.next = std::max(counter.next, counter.high);
}

void Database::repair(const std::string& key) {
  commit_all();
  Counter& counter = counters_[key];
  if (counter.high > 1 && (!counter.exists || counter.next < counter.high)) repair(counter);
}

void Database::repair_type(const std::string& key) {
  if (!check_type(key).ok()) of_wrong_type_[key] = stage_.time.monotonic_ms();
}

Status Database::check_type(const std::string& key) {
  const auto found = of_wrong_type_.find(key);
  if (found == of_wrong_type_.end() || found->second != kForEver) return {};
  stage_.count(Kind::type_refused);
  return {ErrorCode::SEQ_TYPE, "the counter is no number"};
}

std::int64_t Database::was_of_wrong_type(const std::string& key) const {
  const auto found = of_wrong_type_.find(key);
  return found == of_wrong_type_.end() ? -1 : found->second;
}

void Database::repair_all() {
  for (const auto& [key, until_ms] : of_wrong_type_) repair_type(key);
  for (const auto& [key, counter] : counters_) repair(key);
}

// --- copies

std::int64_t Database::heartbeat(const Token& instance) const {
  const auto found = heartbeats_.find(instance);
  return found == heartbeats_.end() ? 0 : found->second;
}

void Database::back_up() {
  commit_all();
  backed_up_ = true;
  copy_ = {counters_, epochs_, heartbeats_, leases_, returns_, parked_};
}

bool Database::meets_older_copy(const Token& instance, std::int64_t heartbeat_known) {
  std::int64_t& known = known_[instance];
  known = std::max(known, heartbeat_known);
  if (!is_older(heartbeat_known, heartbeat(instance))) return false;
  stage_.happened(Kind::older_refused, 0, heartbeat_known, heartbeat(instance));
  return true;
}

bool Database::will_notice(const Token& instance) const {
  const auto known = known_.find(instance);
  const auto copied = copy_.heartbeats.find(instance);
  return known != known_.end() &&
         known->second > (copied == copy_.heartbeats.end() ? 0 : copied->second);
}

bool Database::is_lost(const Token& token, const Return& made) {
  if (!will_notice(made.instance) || copy_.returns.contains(token)) return false;
  if (made.applied) parked_[made.key].erase(made.begin);
  stage_.accounts.not_returned(token);
  return true;
}

void Database::put_back() {
  if (!std::exchange(backed_up_, false)) return;
  commit_all();
  stage_.happened(Kind::database_put_back, 0);
  newest_ = {counters_, epochs_, heartbeats_, leases_, returns_, parked_};
  std::erase_if(leases_, [this](const auto& one) {
    return will_notice(one.second.instance) && !copy_.leases.contains(one.first);
  });
  std::erase_if(returns_, [this](const auto& one) { return is_lost(one.first, one.second); });
  for (auto& [key, counter] : counters_) {
    if (!counter.exists) continue;
    const auto found = copy_.counters.find(key);
    const bool existed = found != copy_.counters.end() && found->second.exists;
    counter.exists = existed;
    counter.next = existed ? std::min(counter.next, found->second.next) : 1;
  }
  epochs_ = copy_.epochs;
  heartbeats_ = copy_.heartbeats;
  ++copies_;
  put_back_ = true;
  written_to_ = false;
}

bool Database::put_right() {
  if (!put_back_ || written_to_) return false;
  stage_.happened(Kind::database_put_right, 0);
  ++copies_;
  counters_ = newest_.counters;
  epochs_ = newest_.epochs;
  heartbeats_ = newest_.heartbeats;
  leases_ = newest_.leases;
  returns_ = newest_.returns;
  parked_ = newest_.parked;
  put_back_ = false;
  return true;
}

void Database::raise_all() {
  repair_all();
  put_back_ = false;
}

}  // namespace seqd::sim

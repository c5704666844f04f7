// Database: a central store as all daemons see it: counters, lease tokens and epochs on a primary
// whose writes are acknowledged once they are committed; what is not committed is rolled back by a
// fail-over. Foreign writers and careless operators work on the same counters. It outlives every
// daemon; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/upkeep/purge_store.h"
#include "tests/sim/stage.h"

namespace seqd::sim {

class Database {
 public:
  // `keeps_tokens`: whether the outcome of a lease can be looked up later.
  Database(Stage& stage, std::string name, bool keeps_tokens)
      : stage_(stage), name_(std::move(name)), keeps_tokens_(keeps_tokens) {}

  const std::string& name() const { return name_; }
  bool keeps_tokens() const { return keeps_tokens_; }
  // Tells it from every other database.
  Token identity() const { return {static_cast<std::uint8_t>(keeps_tokens_ ? 1 : 2)}; }
  bool available() const { return stage_.time.monotonic_ms() >= down_until_ms_; }

  // The answer is given when the write is committed, and never when it is rolled back.
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> answer);
  // The same increment a second time, of which nobody hears; tokens are there to prevent it.
  void apply_again(const LeaseRequest& request);
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> answer);
  void return_range(const ReturnRequest& request, std::function<void(ReturnOutcome)> answer);
  void beat(const BeatRequest& request, std::function<void(BeatOutcome)> answer);
  void claim(const ClaimRequest& request, std::function<void(ClaimOutcome)> answer);
  void forget(const ForgetRequest& request, std::function<void(InstanceRecords)> answer);

  CounterReading read(const std::string& key);
  std::int64_t floor(const std::string& key) { return read(key).floor; }
  void advance(const AdvanceRequest& request, std::function<void(std::int64_t)> answer);
  CounterPage find_counters(const CounterQuery& query);
  void remove_counters(const CounterRemoval& removal,
                       std::function<void(std::vector<RemovalOutcome>)> answer);

  // Somebody who is not seqd takes `count` IDs.
  void take_elsewhere(const std::string& key, std::int64_t count);
  void be_down(std::int64_t ms) { down_until_ms_ = stage_.time.monotonic_ms() + ms; }
  // The secondaries lag for a while, and then one of them takes over.
  void begin_fail_over();
  // A counter is put back by some IDs, or removed; and put right again.
  void lower(const std::string& key);
  // It is something else than a number for a while.
  void spoil_type(const std::string& key) { of_wrong_type_[key] = kForEver; }
  void repair_type(const std::string& key);
  Status check_type(const std::string& key);
  // Until when; -1: never.
  std::int64_t was_of_wrong_type(const std::string& key) const;
  void remove(const std::string& key);
  void repair(const std::string& key);
  void repair_all();

  // A copy is made, and put in place of the database later: its heartbeats, epochs, counters and
  // tokens are then as old as the copy. Tokens of an instance that cannot notice stay: what becomes
  // of those the daemon does not promise.
  void back_up();
  void put_back();
  // The right database is in place again. False: something was written to the copy meanwhile.
  bool put_right();
  // Every host has raised the counters.
  void raise_all();
  bool is_put_back() const { return put_back_; }
  // How often another copy came in place; the connections of before are gone.
  std::int64_t copies() const { return copies_; }
  std::int64_t heartbeat(const Token& instance) const;

 private:
  struct Counter {
    bool exists = false;
    std::int64_t next = 1;
    std::int64_t high = 1;  // end of the highest range that was ever taken
    std::int64_t floor = 0;
  };
  struct Lease {
    std::int64_t begin = 0;  // begin == end: the token is void
    std::int64_t end = 0;
    Token instance{};
  };
  struct Return {
    bool applied = false;  // otherwise the token is void
    Token instance{};
    std::string key;
    std::int64_t begin = 0;
  };
  struct Epoch {
    std::uint64_t number = 0;
    Token nonce{};
  };
  struct Write {
    std::uint64_t number = 0;
    std::function<void()> undo;
    std::function<void()> committed;
  };

  void write(std::function<void()> undo, std::function<void()> committed);
  void commit(std::uint64_t number);
  void commit_all();
  void fail_over();
  // What the counter says to this request; when granted, it is not moved yet.
  LeaseOutcome judge(const LeaseRequest& request);
  // Moves the counter to the end of a grant; returns what undoes that.
  std::function<void()> move_counter(const std::string& key, const LeaseOutcome& grant);
  void repair(Counter& counter);
  std::function<void()> take_parked(const LeaseRequest& request, LeaseOutcome& grant);
  std::function<void()> apply(const ReturnRequest& request);
  bool purge(const FoundCounter& found);
  // Whether the request is one of a host that knows a newer heartbeat.
  bool meets_older_copy(const Token& instance, std::int64_t heartbeat);
  bool will_notice(const Token& instance) const;
  // The copy that is put in place does not know it.
  bool is_lost(const Token& token, const Return& made);

  Stage& stage_;
  const std::string name_;
  const bool keeps_tokens_;
  std::map<std::string, Counter> counters_;
  static constexpr std::int64_t kForEver = std::int64_t{1} << 62;
  std::map<std::string, std::int64_t> of_wrong_type_;  // until when
  std::map<Token, Lease> leases_;
  std::map<Token, Return> returns_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> parked_;  // by key: begin and end
  std::set<Token> took_parked_;                                         // leases
  std::set<Token> voided_;  // also where the copy that was put back does not know it
  std::map<Token, Epoch> epochs_;
  std::map<Token, std::int64_t> heartbeats_;
  // Counters that were removed and may never be made again: where they ended.
  std::map<std::string, std::int64_t> purged_;
  struct Copy {
    std::map<std::string, Counter> counters;
    std::map<Token, Epoch> epochs;
    std::map<Token, std::int64_t> heartbeats;
    std::map<Token, Lease> leases;
    std::map<Token, Return> returns;
    std::map<std::string, std::map<std::int64_t, std::int64_t>> parked;
  };
  Copy copy_, newest_;
  std::map<Token, std::int64_t> known_;  // the newest heartbeat that each instance has shown
  bool backed_up_ = false;
  std::int64_t copies_ = 0;
  bool put_back_ = false;    // and the counters are not raised yet
  bool written_to_ = false;  // since then
  std::deque<Write> uncommitted_;
  std::uint64_t writes_ = 0;
  std::int64_t down_until_ms_ = 0;
  std::int64_t lags_until_ms_ = 0;
};

}  // namespace seqd::sim

// LogMirror: what the log of one state directory has to say, kept beside it: every committed entry
// is applied to a StateImage, checked against what must be durable, and entered into the accounts.
// After a start it holds what was read against what was written. Belongs to a site and outlives its
// daemons; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/log/remainder_log.h"
#include "daemon/core/log/state_image.h"
#include "daemon/state/start.h"
#include "tests/sim/stage.h"

namespace seqd::sim {

class LogMirror {
 public:
  LogMirror(Stage& stage, std::int64_t site) : stage_(stage), site_(site) {}

  // --- a daemon runs
  // A start has read the directory.
  void started(const Started& started);
  void start_was_cut_off() { start_cut_off_ = true; }
  void append(const LogEntry& entry) {
    stage_.transcript.appended(site_, entry);
    turn_.push_back(entry);
  }
  // Around the log's own commit: what ends in between may be in the log or not.
  void committing() { committing_ = true; }
  void committed(LogPosition position);
  void durable(LogPosition position);
  // What is found is of other databases than those that the configuration names now.
  void set_elsewhere(bool elsewhere) { elsewhere_ = elsewhere; }
  // A call of that store had no answer, or none that says anything.
  void store_failed(const std::string& store) { failed_stores_.insert(store); }
  // The process has ended, however.
  void ended();

  // --- somebody meddles with the directory
  // A start may find less than was written: the power was cut, the witness is gone.
  void disturb() { disturbed_ = true; }
  // Nor may it find all that was on the medium.
  void damage() { disturbed_ = damaged_ = true; }
  // What was in the directory is gone, and something else may be there.
  void destroy();

  bool intent_is_durable(const Token& token) const { return intents_.contains(token); }
  bool claim_is_durable(const Token& nonce) const { return claims_.contains(nonce); }
  const StateImage& image() const { return image_; }
  std::int64_t site() const { return site_; }
  // A start finds all of the image.
  bool is_known() const { return known_ && !disturbed_; }
  // Whether the client of that identity was issued something for that request.
  bool has_issued(const Token& identity, std::uint32_t request) const;
  // Nothing waits for a commit.
  bool at_rest() const { return turn_.empty(); }
  // But for heartbeats, of which there is one every now and then.
  bool is_quiet() const;
  // Grows when clients were forgotten that should not have been, by force.
  std::int64_t memory_losses() const { return memory_losses_; }
  // Clients that were forgotten in the ordinary way.
  std::set<Token>& forgotten() { return forgotten_; }
  // Available, being leased or being returned.
  bool has_anything() const;
  void add_available(std::map<std::string, IntervalSet>& to) const;

 private:
  // With what is being returned.
  static IntervalSet available_of(const SequenceImage& sequence);
  void enter(const LogEntry& entry);
  void enter(const Issued& issue);
  void check_floor(const Issued& issue) const;
  void note_forgotten(const LogEntry& entry);
  bool may_be_issued(SequenceId sequence, std::int64_t begin, std::int64_t end) const;
  void apply(const LogEntry& entry);
  void enter_cut_off(const StateImage& found);
  bool is(const StateImage& found) const;
  void explain(const Started& started);
  void explain(const SequenceImage& had, const Started& started);
  IntervalSet issued_in_turn(SequenceId sequence) const;
  IntervalSet taken_in_turn(SequenceId sequence) const;
  // At most one, because one lease is in flight at a time; else null.
  const LeaseGranted* granted_in_turn(SequenceId sequence) const;
  const std::string& name(SequenceId sequence) const {
    return image_.sequences.at(sequence).definition.name;
  }
  [[noreturn]] void violation(const std::string& what) const;

  template <typename Value>
  using Waiting = std::vector<std::pair<LogPosition, Value>>;

  Stage& stage_;
  const std::int64_t site_;
  StateImage image_;            // of all that was committed
  std::vector<LogEntry> turn_;  // not committed
  // Of turns that were cut off before the directory was destroyed: a copy may have their record.
  std::vector<Issued> cut_off_;
  bool committing_ = false;
  bool runs_ = false;  // from a start that was good to the end of the process
  bool known_ = true;  // whether image_ is what is in the directory
  bool disturbed_ = false;
  bool damaged_ = false;
  bool start_cut_off_ = false;
  std::int64_t started_ms_ = 0;
  std::set<std::string> failed_stores_;  // since then
  bool elsewhere_ = false;
  std::int64_t memory_losses_ = 0;
  std::set<Token> forgotten_;
  std::map<std::string, std::int64_t> issued_end_;  // by all daemons of this directory

  // What the present process may rely on, and what waits for the medium.
  std::map<SequenceId, std::int64_t> reserved_;
  std::map<SequenceId, IntervalSet> left_of_blocks_;
  std::set<Token> intents_;
  std::set<Token> claims_;
  std::map<Token, Token> leases_of_returns_;
  std::map<Token, ReturnOpened> opened_;  // every return that was, by its token
  Waiting<Reserved> reservations_waiting_;
  Waiting<Token> intents_waiting_;
  Waiting<Token> claims_waiting_;
};

}  // namespace seqd::sim

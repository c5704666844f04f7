// SequenceDefinition: what a sequence is: its name and number, its settings, and the counter that
// its ranges come from; and what the log has of that. A sequence that is configured for another
// counter moves: until record_move() the log has the former one. Owned by its Sequence; loop
// thread.
//
// Invariant: the log has logged(), but for a high-water mark that a lease or a return changed: the
// record of that implies it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/core/log/log_entry.h"
#include "daemon/core/sequence/former_counter.h"
#include "daemon/core/sequence/sequence_owner.h"
#include "daemon/core/settings/sequence_settings.h"
#include "daemon/core/words/counter_binding.h"

namespace seqd {

class SequenceDefinition {
 public:
  // `settings` of SharedSettings; `key`: of the counter. The context outlives this.
  SequenceDefinition(const SequenceContext& context,
                     std::shared_ptr<const SequenceSettings> settings, const std::string& key,
                     const DefineSequence& definition);

  const std::string& name() const { return name_; }
  SequenceId id() const { return id_; }
  // Without binding.key: sequences share them.
  const SequenceSettings& settings() const { return *settings_; }
  // Of its counter.
  const std::string& key() const { return counter_ == nullptr ? name_ : counter_->key; }
  // Of its counter, with the key; made for the call.
  CounterBinding binding() const;
  // The ordinal after the highest one leased by this host; see DefineSequence.
  std::int64_t high_water() const { return high_water_; }
  // The same, or of the counter that it moves from.
  std::int64_t leased_below() const;
  // As the log has it.
  DefineSequence logged() const;
  // What it shares with all sequences of its scope.
  const SequenceContext& context() const { return context_; }

  // The configuration has changed.
  void apply_settings(std::shared_ptr<const SequenceSettings> settings, const std::string& key);
  // With the record of a lease or a return.
  void set_high_water(std::int64_t high_water) { high_water_ = high_water; }
  // Records that nothing below `to` is leased any more, if it is higher.
  void raise_high_water(std::int64_t to);
  // End of what was issued or written off, or leased elsewhere; see UsedBelow. The first two are
  // noted with their records.
  std::int64_t used_below() const { return used_below_; }
  void note_used(std::int64_t end) { used_below_ = std::max(used_below_, end); }
  void set_used_below(std::int64_t end) { used_below_ = end; }

  // The counter that it moves from; null: the log has its own one.
  const FormerCounter* former() const { return former_.get(); }
  // It moves. Nothing of the former counter is open; at most once.
  void move_from(FormerCounter former);
  // Before its own counter is first used: the log has that from now on. BUSY: it has no room.
  // UNAVAILABLE: it waits for the medium.
  Status record_move();

 private:
  // Where its counter is not the one of its name and its settings.
  struct OwnCounter {
    std::string key;
    std::string binding;  // empty: that of the settings
  };

  DefineSequence own() const;
  void record_mark(const DefineSequence& definition);
  void keep_counter(const std::string& key, const std::string& binding);

  std::unique_ptr<const OwnCounter> counter_;    // null: that of name and settings
  std::unique_ptr<const FormerCounter> former_;  // see former()
  std::int64_t high_water_;
  std::int64_t used_below_;
  const SequenceContext& context_;
  std::shared_ptr<const SequenceSettings> settings_;
  const std::string name_;
  const SequenceId id_;
};

}  // namespace seqd

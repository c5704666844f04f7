// Sequences that are configured for another counter than the one their ranges came from. Where
// nothing of the former counter is open, the sequence moves with its number: it leases from the new
// counter, and never below what was leased here. The log has the former one until then, so a start
// that is killed changes nothing, and other options at the next one are as good. Loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/former_counter.h"
#include "daemon/core/sequence/sequence_gate.h"
#include "daemon/core/settings/counter_identity.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

// The end of what this host leased from each counter, for all the sequences that share it.
class LeasedBelow {
 public:
  bool empty() const { return ends_.empty(); }
  void add(const DefineSequence& one) {
    std::int64_t& end = ends_[counter(one)];
    end = std::max(end, one.high_water);
  }
  // 0: no sequence of that counter was added.
  std::int64_t of(const DefineSequence& one) const {
    const auto found = ends_.find(counter(one));
    return found == ends_.end() ? 0 : found->second;
  }

 private:
  using Counter = std::pair<ScopeId, std::string>;
  static Counter counter(const DefineSequence& one) {
    return {one.scope, std::string(counter_of(one.binding))};
  }

  std::map<Counter, std::int64_t> ends_;
};

class Sequences;

// Raises each sequence's high-water mark to the end of what any sequence of its counter leased.
// Before one of them moves: the other counter knows nothing of these leases.
void share_marks(const Sequences& sequences, const LeasedBelow& marks);

// The sequences that move at one start.
class Moves {
 public:
  explicit Moves(const StateImage& image) : image_(image) {}

  // What a sequence that moves leaves; `scope` is that of its former counter.
  FormerCounter leave(const DefineSequence& former, const StoreScope& scope);
  // When all have left: see share_marks().
  void share_marks_with(const Sequences& sequences) const;

 private:
  const StateImage& image_;
  LeasedBelow leased_;  // of all in the image, once one moves: in nearly every start none does
  LeasedBelow moved_;   // of the sequences that move
};

// Available, out, being leased or returned.
bool has_open_ranges(const SequenceImage& image);
// Whether the ordinals of the former counter are the IDs of those settings.
bool may_move(const DefineSequence& former, const SequenceSettings& settings);
// "store "a" (sqlite /a.db), counter ...".
std::string counter_place(const StoreScope& scope, const std::string& binding);
// Whether a sequence that the log defines so can be used with these settings; null: it has none.
// `scope`: of the definition. StopCause::unconfigured, StopCause::elsewhere, or none.
Stopped check_configured(const DefineSequence& definition, const StoreScope& scope,
                         const SequenceSettings* settings);

}  // namespace seqd

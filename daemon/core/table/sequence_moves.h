// Sequences that are configured for another counter than the one their ranges came from. Where
// nothing of the former counter is open, the sequence moves with its number: it leases from the new
// counter, and never below what was leased here. The log has the former one until then, so a start
// that is killed changes nothing, and other options at the next one are as good. Loop thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/log/counter_identity.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/settings.h"

namespace seqd {

// The end of what this host leased from each counter, for all the sequences that share it, as a
// start found it. Of one image, which outlives it.
class LeasedBelow {
 public:
  explicit LeasedBelow(const StateImage& image) : image_(image) {}

  // `definition` is in the image. Nearly no start asks for one: only then all are looked at.
  std::int64_t of(const DefineSequence& definition) {
    if (ends_.empty()) {
      for (const auto& [id, sequence] : image_.sequences) {
        std::int64_t& end = ends_[counter(sequence.definition)];
        end = std::max(end, sequence.definition.high_water);
      }
    }
    return ends_.at(counter(definition));
  }

 private:
  using Counter = std::pair<ScopeId, std::string_view>;
  static Counter counter(const DefineSequence& one) { return {one.scope, counter_of(one.binding)}; }

  const StateImage& image_;
  std::map<Counter, std::int64_t> ends_;
};

// Available, out, being leased or returned.
bool has_open_ranges(const SequenceImage& image);
// Whether the ordinals of the former counter are the IDs of those settings.
bool may_move(const DefineSequence& former, const SequenceSettings& settings);
// "store "a" (sqlite /a.db), counter ...".
std::string counter_place(const StoreScope& scope, const std::string& binding);
// Why a sequence that the log defines so cannot be used with these settings; null: it has none.
// `scope`: of the definition. NO_SEQUENCE, SEQ_CHANGED.
Status check_configured(const DefineSequence& definition, const StoreScope& scope,
                        const SequenceSettings* settings);

}  // namespace seqd

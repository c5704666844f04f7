// SharedSettings: one object for all sequences whose settings are alike. A table of the
// configuration with a pattern, or the defaults, may be those of a hundred thousand. Owned by the
// SequenceTable; loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

// Differs with each option and with what was made of it, as nearly always as a hash can.
std::size_t hash_of(const SequenceSettings& settings);

class SharedSettings {
 public:
  // Settings alike these, with everything that was made of them. They are without the key of a
  // counter, of which each sequence has one of its own. The result stays as it is.
  std::shared_ptr<const SequenceSettings> find(SequenceSettings settings);
  std::size_t size() const { return shared_.size(); }  // some of them may not be in use any more

 private:
  static constexpr std::size_t kFirstSweep = 64;

  std::unordered_multimap<std::size_t, std::shared_ptr<const SequenceSettings>> shared_;
  std::shared_ptr<const SequenceSettings> last_;  // most sequences have those of the one before
  std::size_t sweep_at_ = kFirstSweep;
};

}  // namespace seqd

// SharedSettings: one object for all sequences whose settings are alike. A table of the
// configuration with a pattern, or the defaults, may be those of a hundred thousand. Owned by the
// SequenceTable; loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <set>

#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class SharedSettings {
 public:
  // Settings alike these, with everything that was made of them: files and users may have changed
  // since the same options were read. They are without the key of a counter, of which each sequence
  // has one of its own. The result stays as it is.
  std::shared_ptr<const SequenceSettings> find(SequenceSettings settings);
  std::size_t size() const { return shared_.size(); }  // some of them may not be in use any more

 private:
  static constexpr std::size_t kFirstSweep = 64;

  using Shared = std::shared_ptr<const SequenceSettings>;
  struct Order {
    using is_transparent = void;
    bool operator()(const Shared& one, const Shared& other) const { return *one < *other; }
    bool operator()(const Shared& one, const SequenceSettings& other) const { return *one < other; }
    bool operator()(const SequenceSettings& one, const Shared& other) const { return one < *other; }
  };

  std::set<Shared, Order> shared_;
  std::size_t sweep_at_ = kFirstSweep;
};

}  // namespace seqd

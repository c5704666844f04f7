#include "daemon/core/table/shared_settings.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

std::shared_ptr<const SequenceSettings> SharedSettings::find(SequenceSettings settings) {
  ASSERT(settings.binding.key.empty());
  if (const auto found = shared_.find(settings); found != shared_.end()) return *found;
  const auto made = std::make_shared<const SequenceSettings>(std::move(settings));
  shared_.insert(made);
  if (shared_.size() >= sweep_at_) {
    std::erase_if(shared_, [](const Shared& one) { return one.use_count() == 1; });
    sweep_at_ = std::max(2 * shared_.size(), kFirstSweep);
  }
  return made;
}

}  // namespace seqd

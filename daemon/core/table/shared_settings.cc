#include "daemon/core/table/shared_settings.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Options that are alike may have been read at different times, and files and users changed since:
// what was made of them has to be the same, too.
bool are_alike(const SequenceSettings& one, const SequenceSettings& other) {
  return one == other && one.text.compiled == other.text.compiled &&
         one.progression.compiled == other.progression.compiled &&
         one.periods.rule == other.periods.rule && one.periods.current == other.periods.current &&
         one.access.allow.compiled == other.access.allow.compiled &&
         one.access.deny.compiled == other.access.deny.compiled;
}

// Of what often differs.
std::size_t hash_of(const SequenceSettings& settings) {
  std::size_t hash = std::hash<std::string>()(settings.store);
  const auto add = [&hash](std::size_t part) { hash = hash * 31 + part; };
  const std::hash<std::int64_t> number;
  add(std::hash<std::string>()(settings.binding.collection));
  add(std::hash<const void*>()(settings.text.compiled.get()));
  add(std::hash<const void*>()(settings.progression.compiled.get()));
  add(settings.periods.current ? number(settings.periods.current->begin_s) : 0);
  for (const std::int64_t part : {settings.lease_min, settings.lease_max, settings.max_available,
                                  settings.max_value, settings.lease_duration_ms}) {
    add(number(part));
  }
  return hash;
}

}  // namespace

std::shared_ptr<const SequenceSettings> SharedSettings::find(SequenceSettings settings) {
  ASSERT(settings.binding.key.empty());
  if (last_ != nullptr && are_alike(*last_, settings)) return last_;
  const std::size_t hash = hash_of(settings);
  const auto [begin, end] = shared_.equal_range(hash);
  const auto found = std::find_if(
      begin, end, [&settings](const auto& one) { return are_alike(*one.second, settings); });
  if (found != end) return last_ = found->second;
  last_ = std::make_shared<const SequenceSettings>(std::move(settings));
  shared_.emplace(hash, last_);
  if (shared_.size() >= sweep_at_) {
    std::erase_if(shared_, [](const auto& one) { return one.second.use_count() == 1; });
    sweep_at_ = std::max(2 * shared_.size(), kFirstSweep);
  }
  return last_;
}

}  // namespace seqd

#include "daemon/core/table/shared_settings.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Options that are alike may have been read at different times, and files and users changed since:
// what was made of them has to be the same, too.
bool is_same(const std::shared_ptr<const IdProgression>& one,
             const std::shared_ptr<const IdProgression>& other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->form() == other->form();
}

bool are_alike(const SequenceSettings& one, const SequenceSettings& other) {
  return one == other && one.text.compiled == other.text.compiled &&
         is_same(one.progression.compiled, other.progression.compiled) &&
         one.periods.rule == other.periods.rule && one.periods.current == other.periods.current &&
         one.access.allow.compiled == other.access.allow.compiled &&
         one.access.deny.compiled == other.access.deny.compiled;
}

}  // namespace

// Of each option: thousands of tables may differ in any one of them.
std::size_t hash_of(const SequenceSettings& settings) {
  std::size_t hash = 0;
  const auto number = [&hash](std::int64_t part) {
    hash = hash * 31 + std::hash<std::int64_t>()(part);
  };
  const auto text = [&hash](const std::string& part) {
    hash = hash * 31 + std::hash<std::string>()(part);
  };
  const auto made = [&hash](const void* part) {
    hash = hash * 31 + std::hash<const void*>()(part);
  };
  const auto users = [&](const UserListSettings& list) {
    text(list.names);
    for (const UserId user : list.compiled.users) number(user);
    for (const GroupId group : list.compiled.groups) number(group);
  };
  const CounterBinding& binding = settings.binding;
  for (const std::string& part :
       {settings.store, binding.collection, binding.key_field, binding.counter_field,
        binding.seed_collection, binding.seed_field, settings.text.format, settings.text.time_zone,
        settings.text.scramble_key_file, settings.periods.period})
    text(part);
  for (const bool part : {settings.named, binding.create, binding.create_index, settings.blocks})
    number(std::int64_t{part});
  for (const std::int64_t part :
       {static_cast<std::int64_t>(settings.mode), static_cast<std::int64_t>(binding.key_type),
        static_cast<std::int64_t>(binding.meaning), binding.first_id, settings.lease_min,
        settings.lease_max, settings.lease_duration_ms, settings.max_available,
        settings.max_unsynced, settings.max_value, static_cast<std::int64_t>(settings.reuse),
        settings.wait_timeout_ms, settings.max_waiters, settings.periods.retain_ms,
        settings.periods.current ? settings.periods.current->begin_s : 0})
    number(part);
  made(settings.text.compiled.get());
  if (const IdProgression* const progression = settings.progression.compiled.get()) {
    const IdProgression::Form& form = progression->form();
    for (const std::int64_t part :
         {form.start, form.increment, form.min, form.max, std::int64_t{form.cycle}})
      number(part);
  }
  made(settings.periods.rule.get());
  users(settings.access.allow);
  users(settings.access.deny);
  return hash;
}

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

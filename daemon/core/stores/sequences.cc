#include "daemon/core/stores/sequences.h"

#include <string>

#include "daemon/base/assertion.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {

std::vector<Sequence*> Sequences::all() const {
  std::vector<Sequence*> out;
  out.reserve(by_name_.size());
  for (const auto& [name, one] : by_name_) out.push_back(one);
  return out;
}

std::vector<Sequence*> Sequences::of(const StoreScope& scope) const {
  std::vector<Sequence*> out = all();
  std::erase_if(out, [&scope](const Sequence* one) { return &one->scope() != &scope; });
  return out;
}

std::vector<const Sequence*> Sequences::list(std::string_view after, std::size_t most) const {
  std::vector<const Sequence*> out;
  for (auto one = by_name_.upper_bound(after); one != by_name_.end() && out.size() < most; ++one)
    out.push_back(one->second);
  return out;
}

Sequence* Sequences::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Sequence* Sequences::find_any_period(std::string_view name) const {
  const std::string_view base = base_of(name);
  if (Sequence* const own = find(base)) return own;
  const auto period = by_name_.lower_bound(std::string(base) + "@");
  const bool is_one = period != by_name_.end() && base_of(period->first) == base;
  return is_one ? period->second : nullptr;
}

Sequence* Sequences::find_kept(std::string_view name) {
  Sequence* const found = kept_.find(name);
  if (found != nullptr) last_ = {found->id(), found};
  return found;
}

Sequence& Sequences::look_up(SequenceId id) {
  ASSERT(id != 0);  // what SequenceTable::find() says where there is none
  last_ = {id, by_id_.at(id).get()};
  return *last_.second;
}

Sequence& Sequences::add(std::unique_ptr<Sequence> sequence) {
  const SequenceId id = sequence->id();
  ASSERT(id != 0 && !contains(id));
  const bool is_new = by_name_.emplace(sequence->name(), sequence.get()).second;
  ASSERT(is_new);
  return *(by_id_[id] = std::move(sequence));
}

void Sequences::remove(const Sequence& sequence) {
  const SequenceId id = sequence.id();
  kept_.drop(sequence);
  by_name_.erase(sequence.name());
  if (last_.first == id) last_ = {};
  by_id_.erase(id);
}

}  // namespace seqd

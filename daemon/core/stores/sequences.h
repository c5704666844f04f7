// Sequences: all sequences, by number and by name. One may be removed while its number is still
// known elsewhere: contains() says so. Owned by the SequenceTable; loop thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/core/names/known_names.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {

class Sequences {
 public:
  using ByName = std::map<std::string_view, Sequence*>;  // no hash: callers choose the names

  std::size_t size() const { return by_name_.size(); }
  const ByName& by_name() const { return by_name_; }
  // In the order of their names: all, of one scope, and at most so many of those behind a name.
  std::vector<Sequence*> all() const;
  std::vector<Sequence*> of(const StoreScope& scope) const;
  std::vector<const Sequence*> list(std::string_view after, std::size_t most) const;

  // Of that very name; null: there is none.
  Sequence* find(std::string_view name) const;
  // Any of the same base name: its periods share progression and rule. Null: none.
  Sequence* find_any_period(std::string_view name) const;
  // As find(), faster; null: that was not kept. What was kept is found until it is removed.
  Sequence* find_kept(std::string_view name);
  void keep(Sequence& sequence) { kept_.keep(sequence, size()); }

  bool contains(SequenceId id) const { return id == last_.first ? id > 0 : by_id_.contains(id); }
  Sequence& at(SequenceId id) { return id != 0 && id == last_.first ? *last_.second : look_up(id); }
  const Sequence& at(SequenceId id) const { return *by_id_.at(id); }

  Sequence& add(std::unique_ptr<Sequence> sequence);
  void remove(const Sequence& sequence);

 private:
  Sequence& look_up(SequenceId id);

  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> by_id_;
  std::pair<SequenceId, Sequence*> last_;  // what at() found last; 0: nothing
  ByName by_name_;
  KnownNames<Sequence> kept_;
};

}  // namespace seqd

// KnownRegisters: what the log has of registers: the highest number of their latest periods that
// this host has seen. A store that has less is an older copy. Owned by the SequenceTable; loop
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/log/register_entry.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

class KnownRegisters {
 public:
  using Key = std::pair<ScopeId, std::string>;  // the name in the store of the scope

  // The log outlives it.
  explicit KnownRegisters(RemainderLog& log) : log_(log) {}

  void restore(const std::map<Key, RegisterReached>& known) { known_ = known; }
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;

  bool contains(const Key& key) const { return known_.contains(key); }
  std::size_t size() const { return known_.size(); }
  // 0: no number of that period is known.
  std::int64_t reached(const Key& key, const std::string& period) const;
  // The store has that number. Nothing happens if a higher one is known, or if later periods fill
  // the entry.
  void note(const Key& key, const std::string& period, std::int64_t number);
  // An operator has accepted what the store has, which may be less.
  void set(const Key& key, const std::string& period, std::int64_t number);
  // The registers of a scope of which a number is known.
  std::vector<const RegisterReached*> of(ScopeId scope) const;

 private:
  void put(const Key& key, const std::string& period, std::int64_t number);

  RemainderLog& log_;
  std::map<Key, RegisterReached> known_;
};

}  // namespace seqd

// ScriptedPurges: counters in memory, by their keys, that can be looked for and removed, and a
// server's clock. Both verbs take effect when they are called and are answered when the test
// delivers; the next removals can be scripted. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/upkeep/purge_store.h"

namespace seqd {

class ScriptedPurges final : public PurgeStore {
 public:
  using Kind = RemovalOutcome::Kind;

  void find_counters(const CounterQuery& query,
                     std::function<void(Result<CounterPage>)> done) override {
    queries.push_back(query);
    CounterPage page;
    page.clock_s = clock_s;
    page.by_key_alone = by_key_alone;
    for (auto at = counters.upper_bound(query.after); at != counters.end(); ++at) {
      if (page.counters.size() == std::min(query.limit, most_found)) {
        page.more = true;
        break;
      }
      page.counters.push_back({at->first, at->second, at->second, problems[at->first]});
      page.after = at->first;
    }
    const Status status = away;
    answers_.emplace_back([done = std::move(done), page, status] {
      done(status.ok() ? Result<CounterPage>(page) : Result<CounterPage>(status));
    });
  }

  void remove_counters(const CounterRemoval& removal,
                       std::function<void(std::vector<RemovalOutcome>)> done) override {
    removals.push_back(removal);
    std::vector<RemovalOutcome> outcomes;
    for (const FoundCounter& counter : removal.counters) {
      RemovalOutcome outcome{Kind::removed, {}};
      if (!scripts.empty()) {
        outcome = scripts.front();
        scripts.pop_front();
      }
      outcomes.push_back(outcome);
      if (outcome.kind == Kind::failed) break;
      if (outcome.kind == Kind::removed) counters.erase(counter.key);
      if (outcomes.size() == most_removed) break;
    }
    answers_.emplace_back([done = std::move(done), outcomes] { done(outcomes); });
  }

  // Gives the oldest answer that waits. False when there is none.
  bool deliver() {
    if (answers_.empty()) return false;
    const auto answer = std::move(answers_.front());
    answers_.pop_front();
    answer();
    return true;
  }

  // The process that asked is gone.
  void drop_pending() { answers_.clear(); }

  std::map<std::string, std::int64_t> counters;  // their numbers
  std::map<std::string, std::string> problems;   // by key
  std::optional<std::int64_t> clock_s;
  bool by_key_alone = false;
  Status away;  // of the next searches
  std::size_t most_found = 1'000;
  std::size_t most_removed = 1'000;  // for which there is time
  std::deque<RemovalOutcome> scripts;
  std::vector<CounterQuery> queries;
  std::vector<CounterRemoval> removals;

 private:
  std::deque<std::function<void()>> answers_;
};

}  // namespace seqd

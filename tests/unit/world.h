// CoreWorld: everything around the core, made deterministic: a clock that the test turns, timers, a
// seeded random source, a log and a store in memory. The process (the SequenceTable) can be killed
// and started again from what was committed; the world stays. After every turn the invariants of
// the core are checked. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/table/sequence_table.h"
#include "tests/unit/memory_log.h"
#include "tests/unit/memory_pages.h"
#include "tests/unit/scripted_store.h"
#include "tests/unit/seeded_random.h"
#include "tests/unit/virtual_time.h"

namespace seqd {

class RecordedEvents final : public EventSink {
 public:
  void raise(const Event& event) override {
    ++counts_[event.kind];
    last[event.kind] = newest = event;
  }
  std::int64_t count(EventKind kind) const {
    const auto found = counts_.find(kind);
    return found == counts_.end() ? 0 : found->second;
  }
  Event newest{};
  std::map<EventKind, Event> last;  // of each kind

 private:
  std::map<EventKind, std::int64_t> counts_;
};

struct Answer {
  Caller caller;
  IssueKind kind = IssueKind::single;
  std::vector<Run> runs;
  Status status;
  std::int64_t wall_s = 0;  // of a text
};

class RecordedReplies final : public ReplySink {
 public:
  void issued(const Caller& caller, SequenceId /*sequence*/, IssueKind kind,
              std::span<const Run> runs) override {
    staged.push_back({caller, kind, {runs.begin(), runs.end()}, {}, 0});
  }
  void issued_text(const Caller& caller, SequenceId /*sequence*/, std::int64_t id,
                   std::int64_t wall_s) override {
    staged.push_back({caller, IssueKind::text, {{id, 1, 1}}, {}, wall_s});
  }
  void failed(const Caller& caller, const Status& status) override {
    staged.push_back({caller, IssueKind::single, {}, status, 0});
  }
  void taken(SessionId /*session*/, std::int64_t /*ids*/) override {}
  std::vector<Answer> staged;  // of this turn: lost when the process dies before the commit
  std::vector<Answer> sent;
};

class ConfiguredSequences final : public SettingsSource {
 public:
  const SequenceSettings* find(const std::string& name) const override;
  std::shared_ptr<const IdFormat> find_format(std::string_view name) const override;
  const AccessSettings* find_access(std::string_view name) const override;
  // Configures a sequence with the counter of its name. The reference stays good.
  SequenceSettings& add(const std::string& name);
  std::map<std::string, SequenceSettings> by_name;

 private:
  mutable std::map<std::string, SequenceSettings> periods_;  // what was made of those with periods
};

class CoreWorld {
 public:
  explicit CoreWorld(std::uint64_t seed = 1) : random(seed) {}
  ~CoreWorld() { kill(); }
  CoreWorld(const CoreWorld&) = delete;
  CoreWorld& operator=(const CoreWorld&) = delete;

  void start();
  void kill();
  void restart() {
    kill();
    start();
  }

  // One turn of the loop: decide, write, send. Then the invariants are checked; of many sequences,
  // which takes as long as there are of them, after some turns only, and when it has settled.
  void turn();
  void flush() { log.flush(*table); }
  // Turns, flushes and answers of the store until nothing moves.
  void settle();
  void advance(std::int64_t ms);
  // Aborts when the core and its log do not agree, or an ID is not accounted for.
  void check() const;

  Sequence& sequence(const std::string& name) { return table->at(*table->open(name)); }
  // One ID now; else the request waits and nothing is returned. An error is put into `status`.
  std::optional<std::int64_t> next(const std::string& name, const Caller& caller = {},
                                   std::int64_t timeout_ms = -1);
  std::optional<std::vector<Run>> range(const std::string& name, std::int64_t count,
                                        const Caller& caller = {}, std::int64_t timeout_ms = -1);

  VirtualTime time;
  SeededRandom random;
  RecordedEvents events;
  RecordedReplies answers;
  MemoryLog log;
  ScriptedStore store{&log};
  ConfiguredSequences settings;
  MemoryPages pages;
  TableLimits limits;
  SequenceTable::Stores stores{{"default", &store}};
  ReplySink* replies = &answers;
  HistorySink* history = nullptr;
  Status status;  // of the last next() or range()
  std::unique_ptr<SequenceTable> table;

 private:
  static constexpr std::size_t kChecked = 100;  // sequences, a turn
  std::size_t turns_ = 0;
  bool unchecked_ = false;  // the last turn, which was good
};

// What each request of a client was issued, however its entries are merged.
std::map<std::uint32_t, std::vector<Issued>> by_request(const ClientImage& client);

}  // namespace seqd

// Leasing: one LeaseOperation alone, with a store and a log that the test steps, and what its owner
// was told. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "daemon/core/leasing/lease_operation.h"
#include "tests/unit/world.h"

namespace seqd {

struct Leasing final : LeaseOperation::Owner {
  Leasing() {
    operation.set_store(&store);
    request.binding.key = "orders";
    request.max_value = 1'000'000;
  }
  LeaseRequest lease_request() const override { return request; }
  void when_durable(std::function<void()> then) override { awaiting.push_back(std::move(then)); }
  Status check_range(std::int64_t begin, std::int64_t end) const override {
    const bool held = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      return range.first < end && begin < range.second;
    });
    return held ? Status(ErrorCode::SEQ_REGRESSED, "it is available already") : Status();
  }
  Status check_counter_kept() const override { return {}; }
  void lease_granted(IdRange range, const Token&) override {
    ranges.emplace_back(range.begin(), range.end());
    request.high_water = range.end();
  }
  void lease_failed(const Status& status) override { failures.push_back(status.code()); }
  void lease_contended() override { ++contended; }
  void lease_untraceable() override { ++untraceable; }
  void lease_moved_on() override { ++moves; }
  bool may_ask() const override { return may_ask_now; }
  void met_older_copy() override { ++older_copies; }

  // Until the answer of the store is due.
  void send(std::int64_t count) {
    operation.start(count);
    flush();
  }
  void flush() {
    for (const auto& then : std::exchange(awaiting, {})) then();
  }
  void pause_over() { time.advance(Backoff::kMostMs); }
  std::size_t closed(LeaseEnd how) {
    std::size_t count = 0;
    for (const LogEntry& entry : log.entries) {
      const auto* close = std::get_if<LeaseClosed>(&entry);
      count += close != nullptr && close->how == how ? 1 : 0;
    }
    return count;
  }

  struct PlainLog final : RemainderLog {
    void append(const LogEntry& entry) override { entries.push_back(entry); }
    LogPosition next_position() const override { return 1; }
    void make_durable() override {}
    Status commit() override { return {}; }
    bool accepting() const override { return true; }
    std::vector<LogEntry> entries;
  };

  VirtualTime time;
  SeededRandom random{3};
  PlainLog log;
  RecordedEvents events;
  RecordedReplies replies;
  ScriptedStore store;
  CoreContext context{time, time, random, log, events, replies};
  LeaseRequest request;
  std::vector<std::function<void()>> awaiting;
  int moves = 0;
  int contended = 0;
  int older_copies = 0;
  bool may_ask_now = true;
  int untraceable = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::vector<ErrorCode> failures;
  LeaseOperation operation{context, *this, 1, "orders"};
};

}  // namespace seqd

// Leasing: one LeaseOperation alone, with a store and a log that the test steps, and its events.
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/core/leasing/lease_operation.h"
#include "tests/unit/world.h"

namespace seqd {

struct Leasing final : StoreOperation::Owner {
  using Kind = OperationEvent::Kind;

  Leasing() {
    request.binding.key = "orders";
    request.sequence = "orders";
    request.max_value = 1'000'000;
  }
  LeaseRequest lease_request() const override { return request; }
  bool may_ask() const override { return may_ask_now; }
  void when_durable(std::function<void()> then) override { awaiting.push_back(std::move(then)); }
  Status check_grant(std::int64_t begin, std::int64_t end) const override {
    const bool held = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
      return range.first < end && begin < range.second;
    });
    return held ? Status(ErrorCode::SEQ_REGRESSED, "it is available already") : Status();
  }
  // As a sequence does it, but for pauses.
  void happened(const OperationEvent& event) override {
    happenings.push_back(event.kind);
    last_error = event.why.code();
    if (event.restored) ++older_copies;
    if (event.kind == Kind::unknown) operation->go_on();
    if (event.kind == Kind::granted) {
      granted_lease = std::get<LeaseGranted>(log.entries.back()).lease;
      ranges.emplace_back(event.begin, event.end);
      request.high_water = event.end;
    }
    if (event.is_over()) operation = nullptr;
  }

  void start(std::int64_t count) {
    LeaseRequest wanted = request;
    wanted.token = store.new_token(random, wanted.binding);
    wanted.count = count;
    operation = std::make_unique<LeaseOperation>(context, *this, &store, 1, wanted);
    operation->begin();
  }
  void leave(const LeaseIntended& intent) {
    operation = std::make_unique<LeaseOperation>(context, *this, &store, intent);
  }
  // Until the answer of the store is due.
  void send(std::int64_t count) {
    start(count);
    flush();
  }
  void flush() {
    for (const auto& then : std::exchange(awaiting, {})) then();
  }
  bool over() const { return operation == nullptr; }
  StoreOperation::State state() const { return operation->state(); }
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
  bool may_ask_now = true;
  std::vector<Kind> happenings;
  ErrorCode last_error = ErrorCode::OK;  // of the newest event
  int older_copies = 0;
  Token granted_lease{};
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::unique_ptr<LeaseOperation> operation;
};

}  // namespace seqd

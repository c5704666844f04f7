#include "tests/unit/memory_log.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace seqd {

Status MemoryLog::commit() {
  if (fail_commit) return {ErrorCode::STATE_IO, "the write failed"};
  if (turn_.empty()) return {};
  ++position_;
  for (const LogEntry& entry : std::exchange(turn_, {})) commit_one(entry);
  return {};
}

void MemoryLog::commit_one(const LogEntry& entry) {
  if (const auto* issue = std::get_if<Issued>(&entry)) {
    std::int64_t& end = issued_end[issue->sequence];
    CHECK(issue->begin >= end && issue->begin >= 1);
    end = issue->end;
    CHECK(issue->end <= durable_reserved_[issue->sequence]);
  } else if (const auto* reserved = std::get_if<Reserved>(&entry)) {
    CHECK(reserved->end > reserved_[reserved->sequence]);
    reserved_[reserved->sequence] = reserved->end;
  } else if (const auto* intent = std::get_if<LeaseIntended>(&entry)) {
    intents_.insert(intent->lease);
  } else if (const auto* scope = std::get_if<DefineScope>(&entry)) {
    if (scope->state == ScopeState::claiming) nonces_.insert(scope->nonce);
  }
  const Status applied = image.apply(entry);
  CHECK(applied.ok());
  history.push_back(entry);
}

void MemoryLog::flush(RemainderLogObserver& observer) {
  if (durable_ == position_ || failed_) return;
  durable_ = position_;
  durable_image = image;
  durable_reserved_ = reserved_;
  durable_intents_ = intents_;
  durable_nonces_ = nonces_;
  observer.durable(durable_);
}

void MemoryLog::fail_flush(RemainderLogObserver& observer) {
  failed_ = true;
  observer.flush_failed({ErrorCode::STATE_IO, "the flush failed"});
}

void MemoryLog::kill() {
  turn_.clear();
  asked_ = durable_;
}

void MemoryLog::cut_power() {
  kill();
  image = durable_image;
}

void MemoryLog::begin_process() {
  for (auto& [id, sequence] : image.sequences) {
    for (RangeInHand& range : sequence.ranges) range.reserved_end = range.begin;
  }
  durable_image = image;
  durable_ = position_;
  asked_ = position_;
  failed_ = false;
  accepts = true;
  fail_commit = false;
  reserved_.clear();
  durable_reserved_.clear();
  intents_.clear();
  durable_intents_.clear();
  for (const auto& [id, sequence] : image.sequences) {
    if (sequence.intent) intents_.insert(sequence.intent->lease);
  }
  durable_intents_ = intents_;
  nonces_.clear();
  durable_nonces_.clear();
}

}  // namespace seqd

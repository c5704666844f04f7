#include "tests/unit/memory_log.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace seqd {

Status MemoryLog::commit() {
  if (fail_commit) return {ErrorCode::STATE_IO, "the write failed"};
  ASSERT(asked_ <= committed_.position || !turn_.empty());  // its position would never come
  if (turn_.empty()) return {};
  ++committed_.position;
  for (const LogEntry& entry : std::exchange(turn_, {})) commit_one(entry);
  ASSERT(image.check().ok());  // a start from here
  return {};
}

void MemoryLog::commit_one(const LogEntry& entry) {
  if (const auto* issue = std::get_if<Issued>(&entry)) {
    std::int64_t& end = issued_end[issue->sequence];
    ASSERT((issue->begin >= end || any_order) && issue->begin >= 1);
    end = std::max(end, issue->end);
    note_issue(issue->sequence, issue->begin, issue->end);
    ASSERT(issue->end <= flushed_.reserved[lease_of(issue->sequence, issue->begin)]);
  } else if (const auto* block = std::get_if<BlockGranted>(&entry)) {
    ASSERT(block->end <= flushed_.reserved[lease_of(block->sequence, block->begin)]);
  } else if (const auto* ended = std::get_if<BlockEnded>(&entry)) {
    if (ended->begin < ended->taken_end)
      note_issue(ended->sequence, ended->begin, ended->taken_end);
  } else if (const auto* reserved = std::get_if<Reserved>(&entry)) {
    std::int64_t& end = committed_.reserved[lease_of(reserved->sequence, reserved->end - 1)];
    ASSERT(reserved->end > end);
    end = reserved->end;
  } else if (const auto* intent = std::get_if<LeaseIntended>(&entry)) {
    committed_.intents.insert(intent->lease);
  } else if (const auto* opened = std::get_if<ReturnOpened>(&entry)) {
    committed_.intents.insert(opened->token);
  } else if (const auto* scope = std::get_if<DefineScope>(&entry)) {
    if (scope->state == ScopeState::claiming) committed_.nonces.insert(scope->nonce);
  }
  const Status applied = image.apply(entry);
  ASSERT(applied.ok());
  history.push_back(entry);
}

Token MemoryLog::lease_of(SequenceId sequence, std::int64_t id) const {
  for (const AvailableRange& range : image.sequences.at(sequence).ranges) {
    if (range.begin <= id && id < range.end) return range.lease;
  }
  return {};
}

void MemoryLog::note_issue(SequenceId sequence, std::int64_t begin, std::int64_t end) {
  std::map<std::int64_t, std::int64_t>& spans = issued_[sequence];
  const auto behind = spans.lower_bound(begin);
  ASSERT(behind == spans.end() || behind->first >= end);
  if (behind == spans.begin() || std::prev(behind)->second < begin) {
    spans[begin] = end;
    return;
  }
  ASSERT(std::prev(behind)->second == begin);
  std::prev(behind)->second = end;
}

void MemoryLog::begin_flush() {
  flushing_ = committed_;
  flushing_image_ = image;
}

void MemoryLog::end_flush(RemainderLogObserver& observer) {
  if (flushing_.position <= flushed_.position || failed_) return;
  flushed_ = flushing_;
  durable_image = flushing_image_;
  observer.durable(flushed_.position);
}

void MemoryLog::fail_flush(RemainderLogObserver& observer) {
  failed_ = true;
  observer.flush_failed({ErrorCode::STATE_IO, "the flush failed"});
}

void MemoryLog::kill() {
  turn_.clear();
  asked_ = flushed_.position;
}

void MemoryLog::cut_power() {
  kill();
  image = durable_image;
}

void MemoryLog::begin_process() {
  for (auto& [id, sequence] : image.sequences) {
    for (AvailableRange& range : sequence.ranges) range.reserved_end = range.begin;
  }
  committed_.reserved.clear();
  committed_.intents.clear();
  committed_.nonces.clear();
  for (const auto& [id, sequence] : image.sequences) {
    if (sequence.intent) committed_.intents.insert(sequence.intent->lease);
    if (sequence.returning) committed_.intents.insert(sequence.returning->token);
  }
  flushed_ = flushing_ = committed_;
  durable_image = flushing_image_ = image;
  asked_ = committed_.position;
  failed_ = false;
  accepts = true;
  fail_commit = false;
}

}  // namespace seqd

// MemoryLog: a RemainderLog in memory that proves, entry by entry, that what the core records makes
// sense: every committed entry is applied to a StateImage, every issue is checked to be new, in
// order and from a durable reservation. A flush ends only when the test says so. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "daemon/core/log/remainder_log.h"
#include "daemon/core/log/state_image.h"

namespace seqd {

class MemoryLog final : public RemainderLog {
 public:
  void append(const LogEntry& entry) override { turn_.push_back(entry); }
  LogPosition next_position() const override { return committed_.position + 1; }
  void make_durable() override { asked_ = committed_.position + 1; }
  Status commit() override;
  bool accepting() const override { return accepts; }

  // Whether somebody waits for a flush.
  bool flush_due() const { return asked_ > flushed_.position && !failed_; }
  // A flush of everything committed up to now begins; what follows is not part of it.
  void begin_flush();
  // The flush that began has ended: `observer` is told.
  void end_flush(RemainderLogObserver& observer);
  // Both at once.
  void flush(RemainderLogObserver& observer) {
    begin_flush();
    end_flush(observer);
  }
  // The flush fails, and so does every later one.
  void fail_flush(RemainderLogObserver& observer);

  // The process is gone: what was not committed is lost, the rest is in the page cache.
  void kill();
  // The machine is gone, too: only what was flushed is left.
  void cut_power();
  // A new process has read the image: its reservations are to be made again (rule R1).
  void begin_process();

  LogPosition position() const { return committed_.position; }
  bool turn_is_empty() const { return turn_.empty(); }
  bool intent_is_durable(const Token& lease) const { return flushed_.intents.contains(lease); }
  bool claim_is_durable(const Token& nonce) const { return flushed_.nonces.contains(nonce); }

  StateImage image;               // of all that was committed
  StateImage durable_image;       // of all that was flushed
  std::vector<LogEntry> history;  // every committed entry
  bool accepts = true;
  bool fail_commit = false;
  bool any_order = false;                         // ranges that were returned come again
  std::map<SequenceId, std::int64_t> issued_end;  // end of the highest issue, over all processes

 private:
  void commit_one(const LogEntry& entry);
  // Of the available range that holds the ID.
  Token lease_of(SequenceId sequence, std::int64_t id) const;
  // No ID twice, over all processes.
  void note_issue(SequenceId sequence, std::int64_t begin, std::int64_t end);

  std::vector<LogEntry> turn_;
  LogPosition asked_ = 0;
  bool failed_ = false;
  // What the present process may rely on.
  struct Known {
    LogPosition position = 0;
    std::map<Token, std::int64_t> reserved;  // by lease
    std::set<Token> intents;
    std::set<Token> nonces;
  };
  Known committed_, flushing_, flushed_;
  StateImage flushing_image_;
  std::map<SequenceId, std::map<std::int64_t, std::int64_t>> issued_;
};

}  // namespace seqd

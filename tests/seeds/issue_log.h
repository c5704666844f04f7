// IssueLog: what one process of old code did, a line for each step: "ask" before the counter is
// moved, "block BEGIN END" (half-open) when it knows that it was, "id N" when N was handed out,
// "failed" when nobody got what was asked for. A line is one write at the very moment, so that a
// kill -9 leaves in the file what really happened: an "ask" that is followed by nothing may have
// moved the counter. Owned by main; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace seqd::seeds {

class IssueLog {
 public:
  explicit IssueLog(const std::string& path);  // appends; ends the process when it cannot
  ~IssueLog();
  IssueLog(const IssueLog&) = delete;
  IssueLog& operator=(const IssueLog&) = delete;

  void ask();
  void block(std::int64_t begin, std::int64_t end);
  void id(std::int64_t number);
  void failed();

  std::int64_t taken() const { return taken_; }  // IDs, in blocks
  std::int64_t issued() const { return issued_; }
  std::int64_t failures() const { return failures_; }

 private:
  void write_line(const std::string& line) const;

  int file_;
  std::atomic<std::int64_t> taken_ = 0;
  std::atomic<std::int64_t> issued_ = 0;
  std::atomic<std::int64_t> failures_ = 0;
};

// Says why on the standard error and ends the process with 1: old code has no better idea.
[[noreturn]] void give_up(const std::string& why);

}  // namespace seqd::seeds

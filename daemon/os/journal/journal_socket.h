// JournalSocket: sends messages to journald (its native protocol) and does not wait for it.
// sd_journal_sendv() waits while journald does not read (its disk is slow or frozen), and with it
// the loop would. What journald has no room for is dropped and counted; the next message that it
// takes is followed by one with that count. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace seqd {

class JournalSocket {
 public:
  // The path of a datagram socket; it may come and go.
  explicit JournalSocket(std::string path);
  ~JournalSocket();
  JournalSocket(const JournalSocket&) = delete;
  JournalSocket& operator=(const JournalSocket&) = delete;

  // "NAME=value" each, without a newline. `patience_ms`: how long to retry, for critical messages,
  // also while journald restarts. True: journald has it.
  bool send(const std::vector<std::string>& fields, int patience_ms = 0);

 private:
  // Whether it was taken.
  bool put(const std::string& message) const;

  const std::string path_;
  std::mutex mutex_;
  int descriptor_ = -1;  // -1: none could be made yet
  std::int64_t lost_ = 0;
};

}  // namespace seqd

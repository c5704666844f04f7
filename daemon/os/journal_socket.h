// JournalSocket: sends messages to journald (its native protocol) and never waits for it.
// sd_journal_sendv() waits while journald does not read (its disk is slow or frozen), and with it
// the loop would. What journald has no room for is dropped and counted; the next message that it
// takes is followed by one with that count. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
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

  // "NAME=value" each, without a newline.
  void send(const std::vector<std::string>& fields);

 private:
  bool put(const std::string& message);

  const std::string path_;
  const int descriptor_;
  std::atomic<std::int64_t> lost_ = 0;
};

}  // namespace seqd

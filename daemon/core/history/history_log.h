// HistoryLog: a RemainderLog that passes each entry to the history before the log, so that
// everything that the log records is in the history. Loop thread.
#pragma once

#include "daemon/core/history/history_recorder.h"
#include "daemon/core/log/remainder_log.h"

namespace seqd {

class HistoryLog final : public RemainderLog {
 public:
  // Both outlive this.
  HistoryLog(RemainderLog& log, HistoryRecorder& recorder) : log_(log), recorder_(recorder) {}

  void append(const LogEntry& entry) override {
    recorder_.logged(entry);
    log_.append(entry);
  }
  LogPosition next_position() const override { return log_.next_position(); }
  void make_durable() override { log_.make_durable(); }
  Status commit() override { return log_.commit(); }
  bool accepting() const override { return log_.accepting(); }

 private:
  RemainderLog& log_;
  HistoryRecorder& recorder_;
};

}  // namespace seqd

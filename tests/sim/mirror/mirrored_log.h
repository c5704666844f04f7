// MirroredLog: the RemainderLog that the core of a simulated daemon sees: the real one, and a
// LogMirror that hears everything. Owned by the process; one thread.
#pragma once

#include <functional>
#include <utility>

#include "daemon/core/log/remainder_log.h"
#include "tests/sim/mirror/log_mirror.h"

namespace seqd::sim {

class MirroredLog final : public RemainderLog {
 public:
  // `before` is called before each record is made.
  MirroredLog(RemainderLog& log, LogMirror& mirror, std::function<void()> before)
      : log_(log), mirror_(mirror), before_(std::move(before)) {}

  void append(const LogEntry& entry) override {
    mirror_.append(entry);
    log_.append(entry);
  }
  LogPosition next_position() const override { return log_.next_position(); }
  void make_durable() override { log_.make_durable(); }
  bool accepting() const override { return log_.accepting(); }
  Status commit() override {
    before_();
    mirror_.committing();
    Status status = log_.commit();
    if (status.ok()) mirror_.committed(log_.next_position() - 1);
    return status;
  }

 private:
  RemainderLog& log_;
  LogMirror& mirror_;
  const std::function<void()> before_;
};

}  // namespace seqd::sim

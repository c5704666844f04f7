// UvProcessRunner: runs programs by uv_spawn, in a session of their own, with the daemon's
// environment except the variables that systemd sets for the daemon alone, and with none of its
// descriptors. Owned by the caller; loop thread.
//
// Every run has an end: its time and its output are bounded, and what is beyond them is killed,
// with what was started by it: also where the program itself has ended, and another has its pipe.
#pragma once

#include <uv.h>

#include <memory>
#include <unordered_set>

#include "daemon/base/process.h"
#include "daemon/uv/event_loop.h"

namespace seqd {

class UvProcessRunner final : public ProcessRunner {
 public:
  explicit UvProcessRunner(EventLoop& loop) : loop_(loop) {}
  // Programs that still run are killed, and their `done` is dropped.
  ~UvProcessRunner() override;
  UvProcessRunner(const UvProcessRunner&) = delete;
  UvProcessRunner& operator=(const UvProcessRunner&) = delete;

  void run(ProcessRequest request, std::function<void(ProcessResult)> done) override;

 private:
  struct Run;

  static int start(Run& run, uv_loop_t* loop);
  static void listen(uv_pipe_t& pipe);
  static void take(Run& run, const uv_stream_t* stream, const char* data, std::size_t size);
  static void step(Run& run);
  static void give_up(Run& run, const std::string& why);
  static void kill_group(const Run& run);
  static void end(Run& run);
  static void close(Run& run);
  template <typename Handle>
  static void close_handle(Handle* handle);

  EventLoop& loop_;
  std::unordered_set<Run*> runs_;
};

}  // namespace seqd

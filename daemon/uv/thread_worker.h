// ThreadWorker: a Worker with threads of its own, so that work that hangs does not delay the users
// of another one. Jobs run on the threads; their `done` runs on the loop. Owned by the Daemon; loop
// thread.
//
// A job that hangs cannot be ended: a process that must go leaves by _exit() and not by this
// destructor.
#pragma once

#include <uv.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/worker.h"
#include "daemon/uv/event_loop.h"

namespace seqd {

class ThreadWorker final : public Worker {
 public:
  // `name` is the threads' (at most 15 bytes), shown by ps and top.
  ThreadWorker(EventLoop& loop, const std::string& name, int threads);
  // Waits for the jobs that run; those that have not begun are dropped, and so is every `done`.
  ~ThreadWorker() override;
  ThreadWorker(const ThreadWorker&) = delete;
  ThreadWorker& operator=(const ThreadWorker&) = delete;

  void submit(std::function<void()> job, std::function<void()> done) override;
  // No job waits, runs or is to be reported.
  bool quiet() const;

 private:
  struct Task {
    std::function<void()> job;
    std::function<void()> done;
  };
  // What the threads share with the loop.
  struct Shared {
    mutable std::mutex mutex;
    std::condition_variable work;
    std::deque<Task> waiting;
    std::deque<std::function<void()>> finished;
    std::size_t running = 0;
    bool ending = false;
  };

  void run();
  void report();

  Shared shared_;
  uv_async_t* wake_;
  std::vector<std::thread> threads_;
};

}  // namespace seqd

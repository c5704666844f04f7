// Worker: runs blocking work off the loop. Each store and the log have a worker of their own, so
// that a job that hangs delays no other owner.
#pragma once

#include <functional>

namespace seqd {

class Worker {
 public:
  virtual ~Worker() = default;
  // Runs `job` on a worker thread, then `done` on the loop thread. Jobs of one worker start in the
  // order of submission. Called on the loop thread only. `job` must not touch anything the loop
  // uses.
  virtual void submit(std::function<void()> job, std::function<void()> done) = 0;
};

}  // namespace seqd

#include "daemon/uv/thread_worker.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

ThreadWorker::ThreadWorker(EventLoop& loop, const std::string& name, int threads)
    : wake_(new uv_async_t) {
  ASSERT(threads > 0);
  ASSERT(uv_async_init(loop.raw(), wake_, [](uv_async_t* handle) {
           static_cast<ThreadWorker*>(handle->data)->report();
         }) == 0);
  wake_->data = this;
  uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  // Signals are the loop's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int at = 0; at < threads; ++at) {
    threads_.emplace_back([this] { run(); });
    pthread_setname_np(threads_.back().native_handle(), name.substr(0, 15).c_str());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadWorker::~ThreadWorker() {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.ending = true;
    shared_.waiting.clear();
  }
  shared_.work.notify_all();
  for (std::thread& thread : threads_) thread.join();
  uv_close(reinterpret_cast<uv_handle_t*>(wake_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
}

void ThreadWorker::submit(std::function<void()> job, std::function<void()> done) {
  ASSERT(job && done);
  {
    const std::lock_guard lock(shared_.mutex);
    ASSERT(!shared_.ending);
    shared_.waiting.push_back({std::move(job), std::move(done)});
  }
  shared_.work.notify_one();
}

bool ThreadWorker::quiet() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.waiting.empty() && shared_.running == 0 && shared_.finished.empty();
}

void ThreadWorker::run() {
  std::unique_lock lock(shared_.mutex);
  while (true) {
    shared_.work.wait(lock, [this] { return shared_.ending || !shared_.waiting.empty(); });
    if (shared_.ending) return;
    Task task = std::move(shared_.waiting.front());
    shared_.waiting.pop_front();
    ++shared_.running;
    lock.unlock();
    task.job();
    task.job = nullptr;
    lock.lock();
    ASSERT(shared_.running > 0);
    --shared_.running;
    shared_.finished.push_back(std::move(task.done));
    uv_async_send(wake_);
  }
}

void ThreadWorker::report() {
  std::deque<std::function<void()>> finished;
  {
    const std::lock_guard lock(shared_.mutex);
    finished.swap(shared_.finished);
  }
  for (const std::function<void()>& done : finished) done();
}

}  // namespace seqd

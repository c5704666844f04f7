#include "daemon/uv/thread_worker.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "daemon/uv/event_loop.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// The worker's own handle does not keep the loop running: a timer does.
struct Work {
  Work() {
    keep = loop.schedule(60'000, [] {});
  }
  ~Work() { loop.cancel(keep); }
  EventLoop loop;
  TimerId keep = 0;
};

TEST_CASE("JobsOfOneThreadRunAndReportInOrder", "[thread_worker]") {
  Work work;
  std::vector<int> jobs;
  std::vector<int> reports;
  ThreadWorker worker(work.loop, "test", 1);
  for (int at = 0; at < 1'000; ++at) {
    worker.submit([&jobs, at] { jobs.push_back(at); },
                  [&, at] {
                    reports.push_back(at);
                    if (at == 999) work.loop.stop();
                  });
  }
  work.loop.run();
  REQUIRE(jobs.size() == 1'000);
  REQUIRE(reports == jobs);
  REQUIRE(std::is_sorted(jobs.begin(), jobs.end()));
  REQUIRE(worker.quiet());
}

TEST_CASE("DoneRunsOnTheLoopAndTheJobElsewhere", "[thread_worker]") {
  Work work;
  ThreadWorker worker(work.loop, "a-name-that-is-longer-than-15", 1);
  std::thread::id job;
  std::thread::id done;
  worker.submit([&] { job = std::this_thread::get_id(); },
                [&] {
                  done = std::this_thread::get_id();
                  work.loop.stop();
                });
  work.loop.run();
  REQUIRE(done == std::this_thread::get_id());
  REQUIRE(job != done);
}

TEST_CASE("ThreadsRunJobsAtTheSameTime", "[thread_worker]") {
  Work work;
  ThreadWorker worker(work.loop, "test", 3);
  std::latch all(3);
  int done = 0;
  for (int at = 0; at < 3; ++at) {
    worker.submit([&] { all.arrive_and_wait(); },
                  [&] {
                    if (++done == 3) work.loop.stop();
                  });
  }
  work.loop.run();
  REQUIRE(done == 3);
}

TEST_CASE("EndWaitsForTheRunningJobAndDropsTheRest", "[thread_worker]") {
  Work work;
  std::atomic<int> ran = 0;
  bool reported = false;
  std::latch running(1);
  {
    ThreadWorker worker(work.loop, "test", 1);
    std::latch more(1);
    worker.submit(
        [&] {
          running.count_down();
          more.wait();
          ++ran;
        },
        [&] { reported = true; });
    for (int at = 0; at < 10; ++at) worker.submit([&] { ran += 100; }, [&] { reported = true; });
    running.wait();
    REQUIRE_FALSE(worker.quiet());
    // Only once the end has begun, or just before it: either way no other job may start.
    std::thread release([&] { more.count_down(); });
    work.loop.schedule(0, [&] { work.loop.stop(); });
    release.join();
  }
  REQUIRE(ran % 100 == 1);
  work.loop.schedule(0, [&] { work.loop.stop(); });
  work.loop.run();
  REQUIRE_FALSE(reported);
}

TEST_CASE("JobMayBeSubmittedFromAReport", "[thread_worker]") {
  Work work;
  ThreadWorker worker(work.loop, "test", 1);
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds == 100) return work.loop.stop();
    worker.submit([] {}, again);
  };
  worker.submit([] {}, again);
  work.loop.run();
  REQUIRE(rounds == 100);
}

TEST_CASE("WorkerAloneDoesNotKeepTheLoopRunning", "[thread_worker]") {
  EventLoop loop;
  const ThreadWorker worker(loop, "test", 2);
  int keep_it_running = 0;
  const auto count = [](uv_handle_t* handle, void* counted) {
    if (handle->type == UV_ASYNC && uv_has_ref(handle) != 0) ++*static_cast<int*>(counted);
  };
  uv_walk(loop.raw(), count, &keep_it_running);
  REQUIRE(keep_it_running == 0);
}

}  // namespace
}  // namespace seqd

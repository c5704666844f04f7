#include "daemon/store/worker_store.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// A worker with one real thread. The test's thread is the loop: `turn` runs one `done` on it.
class ThreadWorker final : public Worker {
 public:
  ThreadWorker() : thread_([this] { run(); }) {}
  ~ThreadWorker() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  ThreadWorker(const ThreadWorker&) = delete;
  ThreadWorker& operator=(const ThreadWorker&) = delete;

  void submit(std::function<void()> job, std::function<void()> done) override {
    {
      const std::lock_guard lock(mutex_);
      jobs_.emplace_back(std::move(job), std::move(done));
    }
    changed_.notify_all();
  }

  // Waits for the next finished job and runs its `done` here.
  void turn() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !finished_.empty(); });
    auto done = std::move(finished_.front());
    finished_.pop_front();
    lock.unlock();
    done();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      auto [job, done] = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
      finished_.push_back(std::move(done));
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::function<void()>, std::function<void()>>> jobs_;
  std::deque<std::function<void()>> finished_;
  bool stopping_ = false;
  std::thread thread_;
};

TEST_CASE("WorkerStore: every verb answers once, on the loop thread, after the call returned",
          "[store]") {
  testing::SqliteFixture fixture;
  ThreadWorker worker;
  WorkerStore store(fixture.open(), worker, worker);
  const LeaseRequest request = testing::lease_request("orders", 10);
  const auto loop = std::this_thread::get_id();
  int answers = 0;
  store.lease(request, [&](const LeaseOutcome& outcome) {
    REQUIRE(std::this_thread::get_id() == loop);
    REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
    REQUIRE(outcome.begin == 1);
    REQUIRE(outcome.end == 11);
    ++answers;
  });
  REQUIRE(answers == 0);
  worker.turn();
  store.resolve(request, [&](const Resolution& resolution) {
    REQUIRE(std::this_thread::get_id() == loop);
    REQUIRE(resolution.kind == Resolution::Kind::granted);
    REQUIRE(resolution.end == 11);
    ++answers;
  });
  worker.turn();
  store.claim({.instance = request.instance, .epoch = 0, .nonce = request.token},
              [&](Result<ClaimOutcome> outcome) {
                REQUIRE(std::this_thread::get_id() == loop);
                REQUIRE(outcome.ok());
                REQUIRE(*outcome == ClaimOutcome::won);
                ++answers;
              });
  worker.turn();
  store.read({.binding = request.binding, .instance = request.instance},
             [&](const Result<CounterReading>& reading) {
               REQUIRE(std::this_thread::get_id() == loop);
               REQUIRE(reading.ok());
               REQUIRE(reading->next_id == 11);
               ++answers;
             });
  worker.turn();
  REQUIRE(answers == 4);
}

TEST_CASE("WorkerStore: a call under way outlives the store that was asked", "[store]") {
  testing::SqliteFixture fixture;
  ThreadWorker worker;
  std::shared_ptr<BlockingStore> blocking = fixture.open();
  const std::weak_ptr<BlockingStore> watch = blocking;
  auto store = std::make_unique<WorkerStore>(std::move(blocking), worker, worker);
  std::int64_t end = 0;
  {
    // The request and the callback given here are gone before the worker is through with them.
    const LeaseRequest request = testing::lease_request("orders", 10);
    for (int i = 0; i < 3; ++i) {
      LeaseRequest each = request;
      each.token = testing::random_token();
      store->lease(each, [&end](const LeaseOutcome& outcome) { end = outcome.end; });
    }
  }
  store.reset();
  worker.turn();  // the first
  worker.turn();  // those requested meanwhile
  REQUIRE(end == 31);
  REQUIRE(watch.expired());
}

TEST_CASE("WorkerStore: leases requested while a batch is running form the next batch", "[store]") {
  testing::SqliteFixture fixture;
  ThreadWorker worker;
  WorkerStore store(fixture.open(), worker, worker);
  const std::size_t most = fixture.open()->leases_together();
  REQUIRE(most > 2);
  std::vector<std::int64_t> ends;
  const std::function<void()> ask = [&] {
    store.lease(testing::lease_request("orders", 10), [&](const LeaseOutcome& outcome) {
      REQUIRE(outcome.kind == LeaseOutcome::Kind::granted);
      ends.push_back(outcome.end);
      // A request from a callback joins the next batch.
      if (ends.size() == 2) ask();
    });
  };
  const auto answered_so_far = [&] { return ends.size(); };
  for (std::size_t i = 0; i < 1 + most + 3; ++i) ask();
  worker.turn();
  REQUIRE(answered_so_far() == 1);
  worker.turn();
  REQUIRE(answered_so_far() == 1 + most);
  worker.turn();
  REQUIRE(answered_so_far() == 1 + most + 3 + 1);
  for (std::size_t at = 0; at < ends.size(); ++at)
    REQUIRE(ends[at] == 11 + 10 * static_cast<std::int64_t>(at));
  ask();
  worker.turn();
  REQUIRE(ends.back() == 1 + 10 * static_cast<std::int64_t>(ends.size()));
}

TEST_CASE("WorkerStore: look-ups requested while a batch is running form the next batch",
          "[store]") {
  testing::SqliteFixture fixture;
  ThreadWorker worker;
  WorkerStore store(fixture.open(), worker, worker);
  int answers = 0;
  for (int at = 0; at < 101; ++at)
    store.resolve(testing::lease_request("orders", 10), [&](const Resolution& resolution) {
      CHECK(resolution.kind == Resolution::Kind::absent);
      ++answers;
    });
  worker.turn();
  REQUIRE(answers == 1);
  worker.turn();
  REQUIRE(answers == 101);
}

}  // namespace
}  // namespace seqd

// block_client: threads that take IDs from the blocks of one handle. Each ID that a thread uses
// goes into FILE.<n> at once, a mapped file of 8 bytes an ID that a kill -9 leaves as it is: what
// stands in it was used. Behind the last ID are zeros.
//
//   block_client --socket S --name orders --threads N --ids M [--rate R] --log FILE
//   block_client --socket S --name orders --threads N --ids M --bench
//
// Ends when each thread has M IDs, and on SIGTERM; closes the handle. R: IDs a second of each
// thread. --bench writes no log, and prints the nanoseconds that an ID takes in each thread, behind
// a tenth of M to warm up. Exit code 0: no error came.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "client-lib/seqd_blocks.h"
#include "tests/tools/arguments.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBurst = 10;  // IDs between two looks at the clock

volatile std::sig_atomic_t g_stop = 0;

struct Arguments {
  std::string socket;
  std::string name = "orders";
  int threads = 1;
  std::int64_t ids = 0;
  std::int64_t rate = 0;  // 0: as fast as it goes
  std::int64_t timeout_ms = 600'000;
  std::string log;
  bool bench = false;
};

struct Totals {
  std::atomic<std::int64_t> taken{0};
  std::atomic<int> failed{SEQD_OK};
};

// The mapped log of one thread; null: it cannot be made.
std::int64_t* map_log(const std::string& path, std::int64_t ids) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  const std::size_t size = static_cast<std::size_t>(ids) * sizeof(std::int64_t);
  void* at = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(size)) == 0)
    at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return at == MAP_FAILED ? nullptr : static_cast<std::int64_t*>(at);
}

void complain(int code, Totals& totals) {
  std::fprintf(stderr, "block_client: %s: %s\n", seqd_error_name(code), seqd_blocks_last_error());
  totals.failed = code;
}

void take(seqd_blocks* blocks, const Arguments& arguments, std::int64_t* log, Totals& totals) {
  const Clock::time_point begin = Clock::now();
  std::int64_t taken = 0;
  while (taken < arguments.ids && g_stop == 0) {
    const std::int64_t end = std::min(taken + kBurst, arguments.ids);
    for (; taken < end; ++taken) {
      std::int64_t id = 0;
      const int code = seqd_blocks_next(blocks, &id);
      if (code != SEQD_OK) return complain(code, totals);
      // A store of its own, at once: the next ID is taken only behind it.
      std::atomic_ref<std::int64_t>(log[taken]).store(id, std::memory_order_release);
    }
    if (arguments.rate > 0) {
      const auto due = std::chrono::nanoseconds(taken * 1'000'000'000 / arguments.rate);
      std::this_thread::sleep_until(begin + due);
    }
  }
  totals.taken += taken;
}

double cpu_ns() {
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

void measure(seqd_blocks* blocks, const Arguments& arguments, int thread, Totals& totals) {
  std::int64_t id = 0;
  std::int64_t last = 0;
  const auto run = [&](std::int64_t ids) {
    for (std::int64_t at = 0; at < ids; ++at) {
      const int code = seqd_blocks_next(blocks, &id);
      if (code != SEQD_OK) return complain(code, totals);
      last ^= id;
    }
  };
  run(arguments.ids / 10);
  const Clock::time_point begin = Clock::now();
  const double cpu_begin = cpu_ns();
  run(arguments.ids);
  const double cpu = cpu_ns() - cpu_begin;
  const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
  totals.taken += arguments.ids;
  const auto ids = static_cast<double>(arguments.ids);
  std::printf("{\"thread\": %d, \"ns_per_id\": %.3f, \"cpu_ns_per_id\": %.3f, \"xor\": %lld}\n",
              thread, time.count() / ids, cpu / ids, static_cast<long long>(last));
}

int read_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{"Takes IDs from blocks, over any number of restarts of the daemon."};
  seqd::tools::add_place(app, arguments.socket, arguments.name);
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 1'000));
  app.add_option("--ids", arguments.ids)->required()->check(CLI::PositiveNumber);
  app.add_option("--rate", arguments.rate)->check(CLI::PositiveNumber);
  app.add_option("--timeout-ms", arguments.timeout_ms)->check(CLI::PositiveNumber);
  auto* log = app.add_option("--log", arguments.log);
  app.add_flag("--bench", arguments.bench)->excludes(log);
  const int usage = seqd::tools::read_options(app, argc, argv);
  if (usage >= 0) return usage;
  if (arguments.bench || log->count() > 0) return -1;
  std::fprintf(stderr, "block_client: --log or --bench is needed\n");
  return 2;
}

}  // namespace

// An exception (memory, threads) ends the program loudly, which is right for a tool of the tests.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  Arguments arguments;
  const int usage = read_arguments(argc, argv, arguments);
  if (usage >= 0) return usage;
  std::signal(SIGTERM, [](int) { g_stop = 1; });
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = arguments.socket.empty() ? nullptr : arguments.socket.c_str();
  options.name = "block_client";
  options.timeout_ms = arguments.timeout_ms;
  seqd_blocks* blocks = nullptr;
  Totals totals;
  const int code = seqd_blocks_open(&options, arguments.name.c_str(), &blocks);
  if (code != SEQD_OK) {
    complain(code, totals);
    return 1;
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < arguments.threads; ++thread) {
    if (arguments.bench) {
      threads.emplace_back([&, thread] { measure(blocks, arguments, thread, totals); });
      continue;
    }
    std::int64_t* const log = map_log(arguments.log + "." + std::to_string(thread), arguments.ids);
    if (log == nullptr) {
      std::perror("block_client: the log");
      std::_Exit(1);
    }
    threads.emplace_back([&, log] { take(blocks, arguments, log, totals); });
  }
  for (std::thread& thread : threads) thread.join();
  seqd_blocks_close(blocks);
  std::printf("took %lld\n", static_cast<long long>(totals.taken.load()));
  return totals.failed == SEQD_OK ? 0 : 1;
}

// block_client: threads that take IDs from the blocks of one handle. Each ID that a thread uses
// goes into FILE.<n> at once, a mapped file of 8 bytes an ID that a kill -9 leaves as it is: what
// stands in it was used. Behind the last ID are zeros.
//
//   block_client --socket S --name orders --threads N --ids M [--rate R] --log FILE
//
// Ends when each thread has M IDs, and on SIGTERM; closes the handle. R: IDs a second of each
// thread. Exit code 0: no error came.
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

int read_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{"Takes IDs from blocks, over any number of restarts of the daemon."};
  seqd::tools::add_place(app, arguments.socket, arguments.name);
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 1'000));
  app.add_option("--ids", arguments.ids)->required()->check(CLI::PositiveNumber);
  app.add_option("--rate", arguments.rate)->check(CLI::PositiveNumber);
  app.add_option("--timeout-ms", arguments.timeout_ms)->check(CLI::PositiveNumber);
  app.add_option("--log", arguments.log)->required();
  return seqd::tools::read_options(app, argc, argv);
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

// kill_client: load for the kill tests: N handles, a thread each, take IDs pipelined at a depth and
// repeat over reconnects, however often the daemon is killed. Every ID received goes into FILE.<n>
// as 8 bytes in the machine's order, so that the test can count them.
//
//   kill_client --socket S --name orders --clients N --depth D (--duration-s T | --requests R)
//               --log FILE [--anonymous]
//
// Ends when T seconds are over or each client has R IDs, and on SIGTERM; takes what is in flight
// before it ends. Exit code 0: no error was answered and nothing is missing.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client-lib/seqd.h"
#include "tests/tools/arguments.h"

namespace {

using Clock = std::chrono::steady_clock;

// Set by SIGTERM: no new requests.
volatile std::sig_atomic_t g_stop = 0;

struct Arguments {
  std::string socket;
  std::string name = "orders";
  int clients = 1;
  std::size_t depth = 16;
  double duration_s = 0;
  std::int64_t requests = 0;  // of each client; 0: until the time is over
  std::int64_t grace_s = 60;  // for what is in flight at the end
  std::string log;
  bool anonymous = false;
};

struct Totals {
  std::int64_t submitted = 0;
  std::int64_t received = 0;
  std::map<int, std::int64_t> errors;  // by result code
  std::map<int, std::string> texts;    // the first of each
  bool log_failed = false;
};

// One client: owned by its thread.
class Load {
 public:
  Load(const Arguments& arguments, int index, Clock::time_point end)
      : arguments_(arguments), end_(end) {
    log_ = std::fopen((arguments.log + "." + std::to_string(index)).c_str(), "wb");
    if (log_ == nullptr) totals_.log_failed = true;
  }
  ~Load() {
    if (log_ != nullptr) std::fclose(log_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  const Totals& totals() const { return totals_; }

  void run() {
    if (log_ == nullptr) return;
    seqd_options options = SEQD_OPTIONS_INIT;
    options.socket_path = arguments_.socket.empty() ? nullptr : arguments_.socket.c_str();
    options.name = "kill_client";
    // Longer than any restart: a request is given up only when the whole run is over.
    options.timeout_ms =
        (static_cast<std::int64_t>(arguments_.duration_s) + arguments_.grace_s + 3'600) * 1'000;
    options.flags = SEQD_DAEMON_WAIT;
    if (arguments_.anonymous) options.flags |= SEQD_ANONYMOUS;
    seqd_client* client = nullptr;
    const int code = seqd_open(&options, &client);
    if (code != SEQD_OK) {
      count_error(code, "seqd_open");
      return;
    }
    take(client);
    seqd_close(client);
    if (std::fflush(log_) != 0) totals_.log_failed = true;
  }

 private:
  bool wants_more() const {
    if (g_stop != 0 || Clock::now() >= end_) return false;
    return arguments_.requests == 0 || totals_.received + in_flight_ < arguments_.requests;
  }

  void take(seqd_client* client) {
    std::vector<seqd_reply> replies(arguments_.depth);
    Clock::time_point last_call = end_ + std::chrono::seconds(arguments_.grace_s);
    while (wants_more() || seqd_pending(client) > 0) {
      if (g_stop != 0)
        last_call = std::min(last_call, Clock::now() + std::chrono::seconds(arguments_.grace_s));
      if (Clock::now() >= last_call) return;
      while (seqd_pending(client) < arguments_.depth && wants_more()) {
        const int code = seqd_submit_next(client, arguments_.name.c_str(), nullptr);
        if (code != SEQD_OK) return count_error(code, seqd_last_error(client));
        ++totals_.submitted;
        ++in_flight_;
      }
      std::size_t used = 0;
      const int code =
          seqd_poll(client, 100, replies.data(), sizeof(seqd_reply), replies.size(), &used);
      if (code != SEQD_OK) return count_error(code, seqd_last_error(client));
      for (std::size_t i = 0; i < used; ++i) record(replies[i]);
    }
  }

  void record(const seqd_reply& reply) {
    --in_flight_;
    if (reply.code != SEQD_OK) return count_error(reply.code, reply.text);
    ++totals_.received;
    if (std::fwrite(&reply.id, sizeof(reply.id), 1, log_) != 1) totals_.log_failed = true;
  }

  void count_error(int code, const char* text) {
    ++totals_.errors[code];
    totals_.texts.try_emplace(code, text);
  }

  const Arguments& arguments_;
  const Clock::time_point end_;
  std::FILE* log_ = nullptr;
  std::int64_t in_flight_ = 0;
  Totals totals_;
};

int read_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{"Takes IDs under load, over any number of restarts of the daemon."};
  seqd::tools::add_place(app, arguments.socket, arguments.name);
  app.add_option("--clients", arguments.clients)->check(CLI::Range(1, 10'000));
  app.add_option("--depth", arguments.depth)->check(CLI::Range(1, 65'536));
  auto* duration =
      app.add_option("--duration-s", arguments.duration_s)->check(CLI::Range(0.001, 1e6));
  auto* requests = app.add_option("--requests", arguments.requests)->check(CLI::PositiveNumber);
  app.add_option("--grace-s", arguments.grace_s)->check(CLI::Range(1, 100'000));
  app.add_option("--log", arguments.log)->required();
  app.add_flag("--anonymous", arguments.anonymous);
  const int usage = seqd::tools::read_options(app, argc, argv);
  if (usage >= 0) return usage;
  if (duration->count() == 0 && requests->count() == 0) {
    std::fprintf(stderr, "kill_client: --duration-s or --requests is needed\n");
    return 2;
  }
  if (duration->count() == 0) arguments.duration_s = 86'400;
  return -1;
}

// The exit code.
int report(const std::vector<std::unique_ptr<Load>>& loads, double seconds) {
  Totals all;
  for (const auto& load : loads) {
    const Totals& one = load->totals();
    all.submitted += one.submitted;
    all.received += one.received;
    all.log_failed = all.log_failed || one.log_failed;
    for (const auto& [code, count] : one.errors) all.errors[code] += count;
    for (const auto& [code, text] : one.texts) all.texts.try_emplace(code, text);
  }
  std::int64_t errors = 0;
  for (const auto& [code, count] : all.errors) {
    std::printf("error %s %lld %s\n", seqd_error_name(code), static_cast<long long>(count),
                all.texts[code].c_str());
    errors += count;
  }
  const auto missing = all.submitted - all.received - errors;
  std::printf("submitted %lld received %lld errors %lld missing %lld seconds %.3f\n",
              static_cast<long long>(all.submitted), static_cast<long long>(all.received),
              static_cast<long long>(errors), static_cast<long long>(missing), seconds);
  if (all.log_failed) std::fprintf(stderr, "kill_client: a log could not be written\n");
  return errors == 0 && missing == 0 && !all.log_failed ? 0 : 1;
}

}  // namespace

// An exception (memory, threads) ends the program loudly, which is right for a tool of the tests.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  Arguments arguments;
  const int usage = read_arguments(argc, argv, arguments);
  if (usage >= 0) return usage;
  std::signal(SIGTERM, [](int) { g_stop = 1; });
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::milliseconds(std::llround(arguments.duration_s * 1'000));
  std::vector<std::unique_ptr<Load>> loads;
  std::vector<std::thread> threads;
  const auto count = static_cast<std::size_t>(arguments.clients);
  loads.reserve(count);
  threads.reserve(count);
  for (int i = 0; i < arguments.clients; ++i)
    loads.push_back(std::make_unique<Load>(arguments, i, end));
  for (const auto& load : loads) threads.emplace_back([&load] { load->run(); });
  for (std::thread& thread : threads) thread.join();
  return report(loads, std::chrono::duration<double>(Clock::now() - start).count());
}

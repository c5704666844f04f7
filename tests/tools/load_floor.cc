// load_floor: two processes that pass one small message to and fro over an AF_UNIX stream socket,
// with nothing but write() and read(): the floor under every request of a daemon on this machine,
// in this run. Prints one line of JSON like load. Usage: load_floor --seconds S [--server-cpu N]
// [--client-cpu N]
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/tools/load_histogram.h"

namespace seqd::load {
namespace {

constexpr std::size_t kRequestSize = 26;  // of a request for one ID, and of its reply
constexpr std::size_t kReplySize = 11;
constexpr double kWarmUp = 0.1;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "load_floor: %s\n", what);
  std::exit(1);
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void pin(int cpu) {
  if (cpu < 0) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(cpu), &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) fail("cannot run on that CPU");
}

[[noreturn]] void serve(int fd, int cpu) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(cpu);
  char buffer[4096];
  while (read(fd, buffer, sizeof(buffer)) > 0) {
    if (write(fd, buffer, kReplySize) != static_cast<ssize_t>(kReplySize)) break;
  }
  _exit(0);
}

void measure(int fd, double seconds) {
  Histogram latency;
  char buffer[4096] = {};
  const double begin = now();
  double end = begin;
  double counted_from = 0;
  while (counted_from == 0 || end - counted_from < seconds) {
    const double start = end;
    if (write(fd, buffer, kRequestSize) != static_cast<ssize_t>(kRequestSize)) fail("write");
    if (read(fd, buffer, sizeof(buffer)) != static_cast<ssize_t>(kReplySize)) fail("read");
    end = now();
    latency.add(static_cast<std::uint64_t>((end - start) * 1e9));
    if (counted_from == 0 && end - begin > kWarmUp) {
      counted_from = end;
      latency.clear();
    }
  }
  const auto us = [&latency](double quantile) {
    return static_cast<double>(latency.quantile(quantile)) / 1000;
  };
  std::printf(
      "{\"requests\":%llu,\"requests_per_s\":%.0f,\"ids_per_s\":0,\"p50_us\":%.2f,\"p90_us\":%.2f,"
      "\"p99_us\":%.2f,\"p999_us\":%.2f,\"max_us\":%.2f,\"errors\":0,\"first_error\":\"\"}\n",
      static_cast<unsigned long long>(latency.count()),
      static_cast<double>(latency.count()) / (end - counted_from), us(0.5), us(0.9), us(0.99),
      us(0.999), static_cast<double>(latency.highest()) / 1000);
}

int main_of_floor(int argc, char** argv) {
  static const option kLong[] = {{"seconds", required_argument, nullptr, 't'},
                                 {"server-cpu", required_argument, nullptr, 's'},
                                 {"client-cpu", required_argument, nullptr, 'c'},
                                 {nullptr, 0, nullptr, 0}};
  double seconds = 1;
  int server_cpu = -1;
  int client_cpu = -1;
  for (int key = 0; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    if (key == 't') seconds = std::strtod(optarg, nullptr);
    if (key == 's') server_cpu = std::atoi(optarg);
    if (key == 'c') client_cpu = std::atoi(optarg);
    if (key == '?') fail("usage: load_floor --seconds S [--server-cpu N] [--client-cpu N]");
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
  const pid_t server = fork();
  if (server < 0) fail("fork");
  if (server == 0) {
    close(ends[0]);
    serve(ends[1], server_cpu);
  }
  close(ends[1]);
  pin(client_cpu);
  measure(ends[0], seconds);
  close(ends[0]);
  waitpid(server, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace seqd::load

int main(int argc, char** argv) {
  return seqd::load::main_of_floor(argc, argv);
}

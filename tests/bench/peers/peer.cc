#include "tests/bench/peers/peer.h"

#include <getopt.h>
#include <sched.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "tests/tools/load_histogram.h"

namespace seqd::bench {
namespace {

constexpr double kWarmUp = 0.1;
constexpr char kUsage[] =
    "usage: --address WHERE [--variant NAME] [--name SEQUENCE] [--connections N] [--depth N] "
    "[--count IDS] [--seconds S | --requests N] [--pin CPU]";

// What one thread measured.
struct Measured {
  load::Histogram latency;  // of a request at depth 1, else of `depth` of them
  double requests = 0;
  double seconds = 0;
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(cpu), &cpus);
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) fail("cannot run on that CPU");
}

Options parse(int argc, char** argv) {
  static const option kLong[] = {{"address", required_argument, nullptr, 'a'},
                                 {"variant", required_argument, nullptr, 'v'},
                                 {"name", required_argument, nullptr, 'n'},
                                 {"connections", required_argument, nullptr, 'c'},
                                 {"depth", required_argument, nullptr, 'd'},
                                 {"count", required_argument, nullptr, 'i'},
                                 {"seconds", required_argument, nullptr, 't'},
                                 {"requests", required_argument, nullptr, 'r'},
                                 {"pin", required_argument, nullptr, 'p'},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  for (int key = 0; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    if (key == '?') fail(kUsage);
    if (key == 'a') options.address = optarg;
    if (key == 'v') options.variant = optarg;
    if (key == 'n') options.name = optarg;
    if (key == 'c') options.connections = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
    if (key == 'd') options.depth = std::strtoul(optarg, nullptr, 10);
    if (key == 'i') options.count = std::strtoll(optarg, nullptr, 10);
    if (key == 't') options.seconds = std::strtod(optarg, nullptr);
    if (key == 'r') options.requests = std::strtoul(optarg, nullptr, 10);
    if (key == 'p') options.cpu = std::atoi(optarg);
  }
  if (options.address.empty() || options.connections == 0 || options.depth == 0 ||
      options.count < 1 || optind != argc) {
    fail(kUsage);
  }
  return options;
}

// `step` makes `requests` of them.
template <typename Step>
Measured repeat(double seconds, std::size_t requests, Step step) {
  Measured measured;
  const double begin = now();
  double end = begin;
  double counted_from = 0;
  while (counted_from == 0 || end - counted_from < seconds) {
    const double start = end;
    step();
    end = now();
    measured.latency.add(static_cast<std::uint64_t>((end - start) * 1e9));
    if (counted_from == 0 && end - begin > kWarmUp) {
      counted_from = end;
      measured.latency.clear();
    }
  }
  measured.seconds = end - counted_from;
  measured.requests = static_cast<double>(measured.latency.count() * requests);
  return measured;
}

// So many requests: what they cost is counted from outside.
Measured make(Client& client, const Options& options) {
  const double begin = now();
  std::size_t made = 0;
  for (; made < options.requests; made += options.depth) {
    if (options.depth == 1) {
      client.take();
    } else {
      client.take_pipelined(options.depth);
    }
  }
  return {load::Histogram(), static_cast<double>(made), now() - begin};
}

Measured measure(Client& client, const Options& options) {
  if (options.requests > 0) return make(client, options);
  const auto take = [&client] { client.take(); };
  if (options.depth > 1) {
    return repeat(options.seconds, options.depth,
                  [&client, &options] { client.take_pipelined(options.depth); });
  }
  if (client.batch() == 1) return repeat(options.seconds, 1, take);
  const Measured rate = repeat(options.seconds, client.batch(), [&client] { client.take_batch(); });
  return {repeat(options.seconds, 1, take).latency, rate.requests, rate.seconds};
}

void print(const std::vector<Measured>& all, const Options& options) {
  load::Histogram latency;
  double requests = 0;
  double requests_per_s = 0;
  for (const Measured& one : all) {
    latency.add_all(one.latency);
    requests += one.requests;
    requests_per_s += one.requests / one.seconds;
  }
  const auto us = [&latency](double quantile) {
    return static_cast<double>(latency.quantile(quantile)) / 1000;
  };
  std::printf(
      "{\"requests\":%.0f,\"requests_per_s\":%.0f,\"ids_per_s\":%.0f,\"p50_us\":%.2f,"
      "\"p99_us\":%.2f,\"p999_us\":%.2f,\"errors\":0,\"first_error\":\"\"}\n",
      requests, requests_per_s, requests_per_s * static_cast<double>(options.count), us(0.5),
      us(0.99), us(0.999));
}

}  // namespace

void Client::take_pipelined(std::size_t) {
  fail("this peer has no pipelining: --depth 1");
}

void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::_Exit(1);
}

void check_id(std::int64_t id) {
  if (id < 1) fail("an ID below 1");
}

int run_peer(int argc, char** argv, const Connect& connect) {
  const Options options = parse(argc, argv);
  if (options.cpu >= 0) pin(options.cpu);
  std::vector<Measured> all(options.connections);
  std::barrier connected(options.connections);
  std::vector<std::thread> threads;
  for (Measured& one : all) {
    threads.emplace_back([&one, &options, &connect, &connected] {
      const std::unique_ptr<Client> client = connect(options);
      connected.arrive_and_wait();
      one = measure(*client, options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  print(all, options);
  return 0;
}

}  // namespace seqd::bench

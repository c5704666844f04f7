// library_load: IDs a second as a program takes them, through the library that it would link:
// libseqd (seqd_next; seqd_submit_next and seqd_poll) or hiredis (redisCommand; redisAppendCommand
// and redisGetReply). Prints one line of JSON like load.
// Usage: library_load --library seqd|hiredis --socket PATH --depth N --seconds S [--pin CPU]
//        [--busy-poll MICROSECONDS]
#include <getopt.h>
#include <hiredis/hiredis.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "client-lib/seqd.h"
#include "tests/tools/load_histogram.h"

namespace seqd::load {
namespace {

constexpr double kWarmUp = 0.1;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "library_load: %s\n", what.c_str());
  std::exit(1);
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

class Library {
 public:
  virtual ~Library() = default;
  virtual void take_one() = 0;
  virtual void take_many(std::size_t count) = 0;
};

class Seqd final : public Library {
 public:
  Seqd(const std::string& socket, std::int64_t busy_poll_us) {
    seqd_options options = SEQD_OPTIONS_INIT;
    options.busy_poll_us = busy_poll_us;
    options.socket_path = socket.c_str();
    if (seqd_open(&options, &client_) != SEQD_OK) fail(seqd_last_error(client_));
  }
  ~Seqd() override { seqd_close(client_); }
  Seqd(const Seqd&) = delete;
  Seqd& operator=(const Seqd&) = delete;

  void take_one() override {
    std::int64_t id = 0;
    if (seqd_next(client_, "orders", &id) != SEQD_OK) fail(seqd_last_error(client_));
    if (id < 1) fail("an ID below 1");
  }
  void take_many(std::size_t count) override {
    for (std::size_t at = 0; at < count; ++at) {
      if (seqd_submit_next(client_, "orders", nullptr) != SEQD_OK) fail(seqd_last_error(client_));
    }
    replies_.resize(count);
    while (count > 0) {
      std::size_t used = 0;
      const int code =
          seqd_poll(client_, 10'000, replies_.data(), sizeof(seqd_reply), replies_.size(), &used);
      if (code != SEQD_OK || used == 0) fail(seqd_last_error(client_));
      for (std::size_t at = 0; at < used; ++at) {
        if (replies_[at].code != SEQD_OK) fail(replies_[at].text);
        if (replies_[at].id < 1) fail("an ID below 1");
      }
      count -= used;
    }
  }

 private:
  seqd_client* client_ = nullptr;
  std::vector<seqd_reply> replies_;
};

class Hiredis final : public Library {
 public:
  explicit Hiredis(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
    if (context_ == nullptr || context_->err != 0) fail("hiredis cannot connect");
  }
  ~Hiredis() override { redisFree(context_); }
  Hiredis(const Hiredis&) = delete;
  Hiredis& operator=(const Hiredis&) = delete;

  void take_one() override { check(redisCommand(context_, "INCR orders")); }
  void take_many(std::size_t count) override {
    for (std::size_t at = 0; at < count; ++at) {
      if (redisAppendCommand(context_, "INCR orders") != REDIS_OK) fail("redisAppendCommand");
    }
    for (std::size_t at = 0; at < count; ++at) {
      void* reply = nullptr;
      if (redisGetReply(context_, &reply) != REDIS_OK) fail("redisGetReply");
      check(reply);
    }
  }

 private:
  void check(void* found) {
    auto* reply = static_cast<redisReply*>(found);
    if (reply == nullptr || reply->type != REDIS_REPLY_INTEGER || reply->integer < 1)
      fail("no number from redis");
    freeReplyObject(reply);
  }

  redisContext* const context_;
};

void measure(Library& library, std::size_t depth, double seconds) {
  Histogram latency;  // of a request at depth 1, else of `depth` of them
  const double begin = now();
  double end = begin;
  double counted_from = 0;
  while (counted_from == 0 || end - counted_from < seconds) {
    const double start = end;
    if (depth == 1) {
      library.take_one();
    } else {
      library.take_many(depth);
    }
    end = now();
    latency.add(static_cast<std::uint64_t>((end - start) * 1e9));
    if (counted_from == 0 && end - begin > kWarmUp) {
      counted_from = end;
      latency.clear();
    }
  }
  const auto requests = static_cast<double>(latency.count() * depth);
  const auto us = [&latency](double quantile) {
    return static_cast<double>(latency.quantile(quantile)) / 1000;
  };
  std::printf(
      "{\"requests\":%.0f,\"requests_per_s\":%.0f,\"ids_per_s\":%.0f,\"p50_us\":%.2f,\"p99_us\":%."
      "2f,"
      "\"p999_us\":%.2f,\"errors\":0,\"first_error\":\"\"}\n",
      requests, requests / (end - counted_from), requests / (end - counted_from), us(0.5), us(0.99),
      us(0.999));
}

int main_of_load(int argc, char** argv) {
  static const option kLong[] = {{"library", required_argument, nullptr, 'l'},
                                 {"socket", required_argument, nullptr, 's'},
                                 {"depth", required_argument, nullptr, 'd'},
                                 {"seconds", required_argument, nullptr, 't'},
                                 {"pin", required_argument, nullptr, 'p'},
                                 {"busy-poll", required_argument, nullptr, 'b'},
                                 {nullptr, 0, nullptr, 0}};
  std::string name = "seqd";
  std::string socket;
  std::size_t depth = 1;
  double seconds = 1;
  std::int64_t busy_poll_us = 0;
  for (int key = 0; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    if (key == 'l') name = optarg;
    if (key == 's') socket = optarg;
    if (key == 'd') depth = std::strtoul(optarg, nullptr, 10);
    if (key == 't') seconds = std::strtod(optarg, nullptr);
    if (key == 'b') busy_poll_us = std::strtol(optarg, nullptr, 10);
    if (key == 'p') {
      cpu_set_t cpus;
      CPU_ZERO(&cpus);
      CPU_SET(std::strtoul(optarg, nullptr, 10), &cpus);
      if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) fail("cannot run on that CPU");
    }
    if (key == '?')
      fail(
          "usage: library_load --library seqd|hiredis --socket PATH --depth N --seconds S [--pin "
          "CPU] [--busy-poll US]");
  }
  if (depth == 0 || (name != "seqd" && name != "hiredis")) fail("no such load");
  std::unique_ptr<Library> library;
  if (name == "seqd") {
    library = std::make_unique<Seqd>(socket, busy_poll_us);
  } else {
    library = std::make_unique<Hiredis>(socket);
  }
  measure(*library, depth, seconds);
  return 0;
}

}  // namespace
}  // namespace seqd::load

int main(int argc, char** argv) {
  return seqd::load::main_of_load(argc, argv);
}

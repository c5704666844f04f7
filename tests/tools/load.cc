// load: one process that keeps a fixed number of requests in flight on a fixed number of
// connections and prints one line of JSON: requests and IDs a second and the quantiles of the
// latency. It speaks to seqd and to Redis in the same way, so that the two can be compared. One
// thread; a connection reads all there is, then asks again for as many as were answered, with one
// write.
#include <getopt.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <memory>

#include "tests/tools/load_connection_io.h"

namespace seqd::load {
namespace {

// Whether the run is over; also ends the warm-up when its time has come.
class Schedule {
 public:
  explicit Schedule(Run& run) : run_(run), begin_(now_ns()) { run_.tally.begin_ns = begin_; }
  bool over(std::uint64_t now) {
    if (run_.options.requests != 0) return run_.tally.replies >= run_.options.requests;
    if (!warm_ && seconds_since(begin_, now) >= run_.options.warm_up) {
      warm_ = true;
      run_.tally.restart(now);
    }
    return warm_ && seconds_since(run_.tally.begin_ns, now) >= run_.options.seconds;
  }

 private:
  static double seconds_since(std::uint64_t begin, std::uint64_t now) {
    return static_cast<double>(now - begin) / 1e9;
  }
  Run& run_;
  std::uint64_t begin_;
  bool warm_ = false;
};

// One connection waits in read() itself, as an ordinary client does, and spares an epoll_wait.
void run_one(Run& run, Connection& connection) {
  Schedule schedule(run);
  std::uint64_t now = now_ns();
  connection.ask(run.options.depth, now);
  while (!schedule.over(now)) {
    const std::uint64_t answered = connection.receive();
    now = now_ns();
    connection.ask(answered, now);
  }
}

void watch(int poll, Connection& connection, bool writing, int operation) {
  epoll_event event{};
  event.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(poll, operation, connection.fd(), &event) != 0) fail("epoll_ctl failed");
}

void run_many(Run& run, std::vector<std::unique_ptr<Connection>>& connections) {
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  Schedule schedule(run);
  std::uint64_t now = now_ns();
  for (auto& connection : connections) {
    connection->set_nonblocking();
    connection->ask(run.options.depth, now);
    watch(poll, *connection, connection->has_output(), EPOLL_CTL_ADD);
  }
  epoll_event events[256];
  while (!schedule.over(now)) {
    const int ready = epoll_wait(poll, events, 256, kSilenceMs);
    if (ready == 0) fail("no reply for ten seconds");
    for (int i = 0; i < ready; ++i) {
      Connection& connection = *static_cast<Connection*>(events[i].data.ptr);
      const bool was_writing = (events[i].events & EPOLLOUT) != 0;
      if (was_writing) connection.flush();
      if ((events[i].events & ~static_cast<unsigned>(EPOLLOUT)) != 0) {
        const std::uint64_t answered = connection.receive();
        connection.ask(answered, now_ns());
      }
      if (was_writing || connection.has_output()) {
        watch(poll, connection, connection.has_output(), EPOLL_CTL_MOD);
      }
    }
    now = now_ns();
  }
  close(poll);
}

void print(const Run& run) {
  const Tally& tally = run.tally;
  const double seconds = static_cast<double>(now_ns() - tally.begin_ns) / 1e9;
  const auto us = [&tally](double quantile) {
    return static_cast<double>(tally.latency.quantile(quantile)) / 1000;
  };
  std::string error = tally.first_error;
  for (char& character : error) {
    if (character == '"' || character == '\\' || character < ' ') character = '\'';
  }
  std::printf(
      "{\"requests\":%llu,\"seconds\":%.3f,\"requests_per_s\":%.0f,\"ids\":%llu,\"ids_per_s\":%.0f,"
      "\"p50_us\":%.2f,\"p90_us\":%.2f,\"p99_us\":%.2f,\"p999_us\":%.2f,\"max_us\":%.2f,"
      "\"errors\":%llu,\"first_error\":\"%s\"}\n",
      static_cast<unsigned long long>(tally.replies), seconds,
      static_cast<double>(tally.replies) / seconds, static_cast<unsigned long long>(tally.ids),
      static_cast<double>(tally.ids) / seconds, us(0.5), us(0.9), us(0.99), us(0.999),
      static_cast<double>(tally.latency.highest()) / 1000,
      static_cast<unsigned long long>(tally.errors), error.c_str());
}

constexpr char kUsage[] =
    "usage: load --socket PATH [--protocol seqd|redis] [--connections N] [--depth N]\n"
    "            [--seconds S] [--warm-up S] [--requests N] [--method next|range] [--count N]\n"
    "            [--names N] [--prefix TEXT] [--identity] [--pin CPU]";

Options parse(int argc, char** argv) {
  static const option kLong[] = {{"socket", required_argument, nullptr, 's'},
                                 {"protocol", required_argument, nullptr, 'p'},
                                 {"connections", required_argument, nullptr, 'c'},
                                 {"depth", required_argument, nullptr, 'd'},
                                 {"seconds", required_argument, nullptr, 't'},
                                 {"warm-up", required_argument, nullptr, 'w'},
                                 {"requests", required_argument, nullptr, 'r'},
                                 {"method", required_argument, nullptr, 'm'},
                                 {"count", required_argument, nullptr, 'n'},
                                 {"names", required_argument, nullptr, 'k'},
                                 {"prefix", required_argument, nullptr, 'x'},
                                 {"identity", no_argument, nullptr, 'i'},
                                 {"pin", required_argument, nullptr, 'u'},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  const auto number = [](unsigned low) {
    const long value = std::strtol(optarg, nullptr, 10);
    if (value < static_cast<long>(low) || value > 1'000'000'000) fail(kUsage);
    return static_cast<unsigned>(value);
  };
  for (int key = 0; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    const std::string_view text = optarg == nullptr ? "" : optarg;
    switch (key) {
      case 's':
        options.socket = text;
        break;
      case 'p':
        options.wire = text == "redis" ? Wire::redis : Wire::seqd;
        break;
      case 'c':
        options.connections = number(1);
        break;
      case 'd':
        options.depth = number(1);
        break;
      case 't':
        options.seconds = std::strtod(optarg, nullptr);
        break;
      case 'w':
        options.warm_up = std::strtod(optarg, nullptr);
        break;
      case 'r':
        options.requests = number(1);
        break;
      case 'm':
        options.count = text == "range" ? std::max(options.count, 1U) : 0;
        break;
      case 'n':
        options.count = number(1);
        break;
      case 'k':
        options.names = number(1);
        break;
      case 'x':
        options.prefix = text;
        break;
      case 'i':
        options.identity = true;
        break;
      case 'u':
        options.cpu = static_cast<int>(number(0));
        break;
      default:
        fail(kUsage);
    }
  }
  if (options.socket.empty() || optind != argc) fail(kUsage);
  return options;
}

// Pins the process and takes all the file descriptors it may have.
void prepare(const Options& options) {
  if (options.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(options.cpu), &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) fail("cannot run on that CPU");
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int main_of_load(int argc, char** argv) {
  Run run;
  run.options = parse(argc, argv);
  prepare(run.options);
  run.buffer.resize(kReadSize);
  run.still_to_send = run.options.requests != 0 ? run.options.requests : ~std::uint64_t{0};
  for (unsigned i = 0; i < run.options.names; ++i) {
    char name[96];
    std::snprintf(name, sizeof(name), "%.60s%06u", run.options.prefix.c_str(), i);
    run.requests.push_back(run.options.wire == Wire::seqd ? seqd_request(name, run.options.count)
                                                          : redis_request(name, run.options.count));
  }
  std::vector<std::unique_ptr<Connection>> connections;
  for (unsigned i = 0; i < run.options.connections; ++i) {
    connections.push_back(std::make_unique<Connection>(run));
    connections.back()->open();
    if (run.options.identity) connections.back()->say_hello();
  }
  if (connections.size() == 1 && run.options.depth <= 1024) {
    run_one(run, *connections.front());
  } else {
    run_many(run, connections);
  }
  print(run);
  return 0;
}

}  // namespace
}  // namespace seqd::load

int main(int argc, char** argv) {
  return seqd::load::main_of_load(argc, argv);
}

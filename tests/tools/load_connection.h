// What the load generator keeps: the options of a run, its tally, and its connections. A connection
// keeps `depth` requests in flight: it reads all there is, then asks again for as many as were
// answered, with one write. It owns its socket; the Run outlives it. One thread.
#pragma once

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "tests/tools/load_histogram.h"
#include "tests/tools/load_wire.h"

namespace seqd::load {

constexpr std::size_t kReadSize = 256 * 1024;
constexpr int kSilenceMs = 10'000;  // no reply for so long is a failure of the run

struct Options {
  std::string socket;
  Wire wire = Wire::seqd;
  unsigned connections = 1;
  unsigned depth = 1;
  double seconds = 1;
  double warm_up = 0.2;
  std::uint64_t requests = 0;  // 0: as many as fit into `seconds`
  unsigned count = 0;          // IDs a request; 0 is `next`
  unsigned names = 1;
  std::string prefix = "load-";
  bool identity = false;  // say hello as a client that can repeat, number and acknowledge
  int cpu = -1;
};

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "load: %s\n", what.c_str());
  std::exit(1);
}

inline std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

struct Tally {
  Histogram latency;
  std::uint64_t replies = 0;
  std::uint64_t ids = 0;
  std::uint64_t errors = 0;
  std::string first_error;
  std::uint64_t begin_ns = 0;

  void restart(std::uint64_t now) {
    latency.clear();
    replies = ids = 0;
    begin_ns = now;
  }
};

// What all connections share.
struct Run {
  Options options;
  std::vector<RequestTemplate> requests;  // one a name
  std::size_t next_name = 0;
  std::uint64_t still_to_send = 0;
  std::vector<char> buffer;
  Tally tally;
};

class Connection {
 public:
  explicit Connection(Run& run) : run_(run) {
    // One of many sequences may wait for a lease while the others are answered.
    const std::size_t later = run.options.names > 1 ? 4096 : 16;
    const std::size_t wanted = std::max<std::size_t>(64, std::size_t{run.options.depth} * later);
    started_.resize(std::bit_ceil(wanted));
  }
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void open();
  void say_hello();
  void set_nonblocking() const { fcntl(fd_, F_SETFL, O_NONBLOCK); }
  // Adds `wanted` requests, fewer when the run has no more to send, and writes what can be written.
  void ask(std::uint64_t wanted, std::uint64_t now);
  // Reads once and counts what was answered.
  std::uint64_t receive();
  void flush();
  int fd() const { return fd_; }
  bool has_output() const { return sent_ != output_.size(); }
  bool idle() const { return outstanding_ == 0; }

 private:
  std::uint64_t count_replies(const char* begin, const char* end);
  std::uint64_t& started(std::uint32_t id) { return started_[id & (started_.size() - 1)]; }
  void acknowledge();

  Run& run_;
  int fd_ = -1;
  std::uint32_t next_id_ = 1;
  std::uint32_t lowest_open_ = 1;  // request numbers below are answered
  std::uint32_t acknowledged_ = 1;
  std::uint64_t outstanding_ = 0;
  std::vector<std::uint64_t> started_;  // by message id modulo its size; 0 is free
  std::string output_;
  std::size_t sent_ = 0;
  std::string leftover_;  // the beginning of a reply
};

}  // namespace seqd::load

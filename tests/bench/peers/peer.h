// What the programs of tests/bench/peers share: the options, the measurement and the line of JSON,
// which is like that of tests/tools/load.cc. A program takes IDs as an application would, through
// the library that it would link; each connection has a thread of its own.
// Usage: PEER --address WHERE [--variant NAME] [--name SEQUENCE] [--connections N] [--depth N]
//        [--count IDS] [--seconds S | --requests N] [--pin CPU]
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace seqd::bench {

struct Options {
  std::string address;  // the server's socket or URI, or a file or directory
  std::string variant;  // how the peer is used, "nosync" for example
  std::string name = "orders";
  unsigned connections = 1;
  std::size_t depth = 1;   // requests that are sent together
  std::int64_t count = 1;  // IDs a request
  double seconds = 1;
  std::size_t requests = 0;  // so many of each thread, and no warm-up; 0: as many as it can
  int cpu = -1;              // -1: any
};

// One connection. Made and used by one thread.
class Client {
 public:
  virtual ~Client() = default;
  // One request, and its reply.
  virtual void take() = 0;
  // `depth` requests before the first reply is read. A peer without pipelining does not have it.
  virtual void take_pipelined(std::size_t depth);
  // Above 1: an ID takes less time than reading a clock. So take_batch() takes this many, which
  // gives the rate, and then take() one by one, which gives the latency, both for the same time.
  virtual std::size_t batch() const { return 1; }
  virtual void take_batch() { take(); }
};

using Connect = std::function<std::unique_ptr<Client>(const Options&)>;

// Prints the message and ends the program with 1.
[[noreturn]] void fail(const std::string& what);

// Ends the program unless `id` can be an ID.
void check_id(std::int64_t id);

// Measures with as many clients as the options ask for. Returns the program's exit code.
int run_peer(int argc, char** argv, const Connect& connect);

}  // namespace seqd::bench

// ProcessRunner: runs a program of this host to its end, without a shell, and brings what it wrote.
// Loop thread: every run is answered exactly once, never before run() returned, unless the runner
// is destroyed before, which ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace seqd {

struct ProcessRequest {
  std::vector<std::string> arguments;  // the first is the program: a path, or a name in PATH
  std::int64_t timeout_ms = 0;         // then it is killed, with what it started
  std::size_t most_output = 0;         // bytes on its standard output; with more it is killed
};

struct ProcessResult {
  std::string error;  // empty: it ended with 0, within its time and its output
  std::string output;
  std::string complaints;  // its standard error; of more than kMostComplaints bytes the first
};

inline constexpr std::size_t kMostComplaints = 1000;

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  virtual void run(ProcessRequest request, std::function<void(ProcessResult)> done) = 0;
};

}  // namespace seqd

// Collects everything that is wrong with a configuration, so that all of it can be corrected at
// once. Used while one configuration is read; one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

// Which keys of a table stand in the file, and on which line. kCommandLine for those from there.
using WrittenKeys = std::map<std::string, int, std::less<>>;
inline constexpr int kCommandLine = 0;

class Problems {
 public:
  static constexpr std::size_t kMaxReported = 50;

  explicit Problems(std::string file) : file_(std::move(file)) {}

  // `key` is the full name of what is wrong, or empty.
  void add(int line, std::string_view key, std::string_view what);
  bool empty() const { return problems_.empty(); }
  // What is not wrong, but should be changed; with its place.
  void warn(int line, std::string_view key, std::string_view what);
  const std::vector<std::string>& warnings() const { return warnings_; }
  // OK, or CONFIG with one line a problem, in the order of the file.
  Status status() const;
  // "FILE:LINE", or "command line".
  std::string place(int line) const;

 private:
  struct Problem {
    int line;
    std::string text;
  };
  std::string file_;
  std::vector<Problem> problems_;
  std::vector<std::string> warnings_;
};

// Where a key stands; `otherwise` when it is not written in the table.
int line_of(const WrittenKeys& written, std::string_view key, int otherwise = kCommandLine);

// "line 12", "not written in this table": for messages that name two options.
std::string where_written(const WrittenKeys& written, std::string_view key);

// The candidate that `word` was probably meant to be; empty when none is near.
std::string_view nearest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates);

}  // namespace seqd

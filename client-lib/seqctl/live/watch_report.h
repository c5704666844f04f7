// WatchReport: the lines of `seqctl watch`: one for each change of a chosen sequence. Pure: time
// comes in as an argument, and the data of the daemon is not trusted. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/seqctl/command_line.h"

namespace seqd::seqctl {

// The time of a sample.
struct SampleTime {
  std::int64_t now_ms = 0;   // of a clock that does not go back
  std::int64_t wall_ms = 0;  // since 1970
  std::string clock;         // the time of day, for people
};

class WatchReport {
 public:
  // The header stands above every `rows_a_header` lines (text only).
  WatchReport(Format format, std::vector<std::string> names, std::int64_t rows_a_header);

  // The lines of a sample: `rows` is the reply of list for the names. A sequence has a line if it
  // is the first sample, or something of it changed since its last line: the runway alone does not
  // count, since it falls with every second of rest.
  std::string answered(const nlohmann::json& rows, const SampleTime& time);
  // The line of a failed sample; empty if the previous one failed with the same error. Afterwards
  // every sequence has a line again.
  std::string unanswered(std::string_view code, std::string_view text);

 private:
  struct Watched {
    std::string name;
    std::string last;  // what stood in its last line; empty: none
    nlohmann::json row;
  };
  std::string line(Watched& watched, const nlohmann::json& row, const SampleTime& time);
  std::string text_line(const nlohmann::json& values, const SampleTime& time);

  const Format format_;
  const std::int64_t rows_a_header_;
  std::vector<Watched> watched_;
  std::size_t name_width_ = 4;
  std::int64_t rows_ = 0;
  std::optional<std::int64_t> before_ms_;  // the last sample with a reply
  std::string failure_;                    // of the last sample; empty: it has a reply
};

}  // namespace seqd::seqctl

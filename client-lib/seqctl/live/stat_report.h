// StatReport: the lines of `seqctl stat`: for each sample, what the daemon counted since the one
// before it. Pure: time comes in as an argument, and the data of the daemon is not trusted. One
// thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "client-lib/seqctl/command_line.h"

namespace seqd::seqctl {

class StatReport {
 public:
  // The header stands above every `rows_a_header` lines (text only).
  StatReport(Format format, std::int64_t rows_a_header)
      : format_(format), rows_a_header_(rows_a_header) {}

  // The line of a sample: a reply of status at that time (milliseconds of a clock that does not go
  // back). Empty for the first one, which has nothing to be compared with.
  std::string answered(const nlohmann::json& status, std::int64_t now_ms);
  // The line of a failed sample. The next answer is compared with nothing, if it is of another
  // process.
  std::string unanswered(std::string_view code, std::string_view text);

 private:
  std::string line(const nlohmann::json& status, double seconds);
  std::string with_header(const std::string& line);

  const Format format_;
  const std::int64_t rows_a_header_;
  std::int64_t rows_ = 0;
  bool has_before_ = false;
  nlohmann::json before_;
  std::int64_t before_ms_ = 0;
};

// A number of a rate, for people: "95123", "0.25"; "-" without one.
std::string rate_text(const std::optional<double>& rate);
// An integer of an object; none where there is none.
std::optional<std::int64_t> count_of(const nlohmann::json& object, const char* key);
// A count of the second sample minus that of the first, at least 0 (a sequence that was forgotten
// takes its IDs out of the sums); none where one of them is missing.
std::optional<std::int64_t> difference(const nlohmann::json& first, const nlohmann::json& second,
                                       const char* key);

}  // namespace seqd::seqctl

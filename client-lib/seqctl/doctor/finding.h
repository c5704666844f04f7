// Finding: the result of one check of `seqctl doctor`, and what to do about it. Pure: any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace seqd::seqctl {

struct Finding {
  enum class Level : std::uint8_t {
    ok,
    unknown,  // this user may not see it, or it is not there to be seen
    warn,
    bad
  };
  Level level = Level::ok;
  std::string subject;  // a word
  std::string text;     // what was found; may hold what the daemon or a file sent
  std::string remedy;   // what to do; empty where there is nothing
};

using Findings = std::vector<Finding>;

// A line each, and one more with what to do; none of it can command a terminal.
std::string findings_text(const Findings& findings);
// {"bad", "warn": counts, "findings": [...]}.
nlohmann::json findings_value(const Findings& findings);
bool has_bad(const Findings& findings);

}  // namespace seqd::seqctl

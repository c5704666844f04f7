// Runs a program for what it prints. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seqd::seqctl {

inline constexpr std::int64_t kProgramMs = 2'000;
inline constexpr std::size_t kMostPrinted = 256 * 1024;

// What `words` (the program, searched in PATH, and its arguments; no shell) prints on standard
// output, at most kMostPrinted bytes. Nothing: there is no such program, or it took longer than
// kProgramMs and was killed. Its input and its errors are /dev/null.
std::optional<std::string> printed_by(const std::vector<std::string>& words);

}  // namespace seqd::seqctl

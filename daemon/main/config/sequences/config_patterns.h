// Patterns of sequence names: `*` stands for any text, `?` for any one character. Pure; any thread.
#pragma once

#include <string_view>

namespace seqd {

bool is_pattern(std::string_view text);
bool matches_pattern(std::string_view pattern, std::string_view name);
// Whether there is a name that both match.
bool patterns_overlap(std::string_view a, std::string_view b);

}  // namespace seqd

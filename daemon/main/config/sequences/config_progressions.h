// What makes the progression of a sequence out of its options start, increment, min, max and cycle.
// Sequences that count up by 1 from a number above 0 need none: they are first_id and max_value in
// other words, and their IDs stand in the store as they are. Used while one configuration is read;
// one thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/settings/sequence_settings.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

// Settles settings.progression of the table `table`, which begins in `line`: what is not given gets
// its default. `compiled` stays null if none is needed or there was a problem.
void make_progression(const std::string& table, int line, const WrittenKeys& written,
                      SequenceSettings& settings, Problems& problems);

// A template writes numbers from 1 on. A sequence that may come below has no text, and one that was
// given a format all the same is a problem. After the format was made.
void relate_progression_to_format(const std::string& table, int line, const WrittenKeys& written,
                                  SequenceSettings& settings, Problems& problems);

// Whether an option of a sequence is not to be dumped, because its progression says it in other
// words.
bool said_by_progression(std::string_view key, const SequenceSettings& settings);

}  // namespace seqd

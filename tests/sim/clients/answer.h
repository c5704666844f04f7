// Answer: the IDs that a reply brings, as its client sees them, and what they say of the sequence
// as all hosts have it. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/settings/sequence_settings.h"
#include "daemon/core/text/id_text.h"
#include "protocol/messages.h"

namespace seqd::sim {

struct Answer {
  std::vector<protocol::Run> runs;  // of values
  std::string text;                 // of the one value, or empty
  bool operator==(const Answer&) const = default;
};

// What the log counts, as [begin, end).
using Ordinals = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Nothing where the sequence has no such IDs. Of one that begins again none are told: a value has
// many.
std::optional<Ordinals> ordinals_of(const SequenceSettings& home, const Answer& answer);
inline bool begins_again(const SequenceSettings& home) {
  return home.progression.cycle;
}

// What a text of the sequence `name` says; nothing: it is none.
std::optional<ParsedId> read_text(const SequenceSettings& home, const std::string& name,
                                  std::string_view text);

}  // namespace seqd::sim

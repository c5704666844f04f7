// NumberRecord: what a register has of one number. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace seqd {

// assigned: it belongs to a key.   confirmed: the same, and somebody said that the document exists.
// voided: it was cancelled, for good.   free: it was cancelled, and another key may get it.
enum class NumberState : std::uint8_t { assigned, confirmed, voided, free };

// "assigned", "confirmed", "void" or "free": the word in a store and on the wire.
const char* number_state_word(NumberState state);

// Who did something to a number, and when.
struct Stamp {
  std::int64_t at_ms = 0;  // since 1970
  std::string by;
  bool operator==(const Stamp&) const = default;
};

// A key that a number belonged to until it was cancelled.
struct FormerKey {
  std::string key;
  Stamp assigned;
  Stamp cancelled;
  std::string reason;
  bool operator==(const FormerKey&) const = default;
};

struct NumberRecord {
  std::string period;  // empty: the register has none
  std::int64_t number = 0;
  NumberState state = NumberState::assigned;
  std::string key;   // empty, where it belongs to none
  std::string text;  // the number as it was first written; it never changes
  Stamp assigned;    // to `key`
  Stamp confirmed;
  std::vector<FormerKey> former;  // the oldest first
  bool operator==(const NumberRecord&) const = default;
};

}  // namespace seqd

// IdProgression: which values the ordinals 1, 2, 3, ... of a sequence stand for, as START,
// INCREMENT, MINVALUE, MAXVALUE and CYCLE say it in a database. Core, log, store and history count
// ordinals; values are what is shown at the edge (daemon/rpc/external.h). Made by the
// configuration; immutable, any thread.
//
// Invariant: an ordinal has one value, for ever, also where the bounds were further apart when it
// was issued than they are today; without a cycle a value has one ordinal at most.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/words/ordinal.h"
#include "daemon/core/words/run.h"

namespace seqd {

class IdProgression;

// The options of a sequence about its progression. A missing option is nullopt until the
// configuration has set its default.
struct ProgressionSettings {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> increment;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  bool cycle = false;
  // What was made of these; null: the IDs are the ordinals.
  std::shared_ptr<const IdProgression> compiled;

  bool given() const { return start || increment || min || max || cycle; }
  bool operator==(const ProgressionSettings& other) const {
    return start == other.start && increment == other.increment && min == other.min &&
           max == other.max && cycle == other.cycle;
  }
  // By what was made of them, too.
  std::strong_ordering operator<=>(const ProgressionSettings& other) const;
};

class IdProgression {
 public:
  struct Form {
    std::int64_t start = 1;
    std::int64_t increment = 1;  // not 0
    std::int64_t min = 1;        // below max; start is within them
    std::int64_t max = kLastOrdinal;
    bool cycle = false;
    auto operator<=>(const Form&) const = default;
  };
  explicit IdProgression(const Form& form);

  const Form& form() const { return form_; }
  // The last ordinal that has a value.
  std::int64_t ordinals() const { return ordinals_; }
  // The lowest value that can come.
  std::int64_t lowest() const;
  // Of an ordinal from 1 on. Without a cycle those behind ordinals(), which may have been issued
  // under another bound, are counted on, held at the bounds of int64.
  std::int64_t value(std::int64_t ordinal) const;
  // The same where the number may be 0, too. For texts.
  std::int64_t value_near(std::int64_t ordinal) const;

  // The newest ordinal of a value below `below`, else its first; `times` it came below it. Below
  // `below` the bounds of today do not count without a cycle: it may have been issued there.
  struct Place {
    std::int64_t ordinal = 0;
    std::int64_t times = 0;
    bool operator==(const Place&) const = default;
  };
  // Nothing when no ordinal has that value.
  std::optional<Place> find(std::int64_t value, std::int64_t below) const;
  // The first ordinal of a value that is not below `from`.
  std::optional<std::int64_t> find_from(std::int64_t value, std::int64_t from) const;

  // The values of `count` ordinals, appended as runs: one more for each time the cycle begins
  // again, and where (count - 1) * increment would be no int64.
  void append_runs(std::int64_t ordinal, std::int64_t count, std::vector<Run>& runs) const;

  // What has to stay the same while any ID is out: part of what the log keeps of the counter.
  std::string text() const;
  // Why no ID is left of the sequence `name`, and why `value` is none of its IDs.
  Status exhausted(std::string_view name) const;
  Status no_id(std::string_view name, std::int64_t value) const;

 private:
  std::uint64_t first_of_cycle() const;
  std::optional<std::uint64_t> steps_from(std::uint64_t from, std::int64_t value) const;
  std::optional<std::uint64_t> steps_within(std::uint64_t from, std::int64_t value) const;

  const Form form_;
  const std::uint64_t step_;  // the increment, to be added modulo 2^64
  std::uint64_t last_ = 0;    // index, from 0, of the last value of the way from `start`
  std::uint64_t length_ = 0;  // of a cycle; 0: longer than there are ordinals
  std::int64_t ordinals_ = 0;
};

// IdProgression::text() behind a space; empty for none.
std::string progression_text(const ProgressionSettings& progression);
// The progression whose text() is `text`, with the widest bounds where the text has none; null: it
// is no such text.
std::shared_ptr<const IdProgression> read_progression(std::string_view text);

}  // namespace seqd

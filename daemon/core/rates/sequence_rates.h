// SequenceRates: how fast IDs of the sequences in use are wanted, including those of requests that
// failed because too few were available, and so how long their available IDs last: their runway.
// Requests pay nothing for it: a sequence that begins to issue is noted at the end of its turn, and
// step() samples a bounded number of those noted, in rounds. A sequence that issued nothing for ten
// minutes, and wants nothing, is dropped. Owned by the SequenceAccounts; loop thread.
//
// At the end of a round those with the highest rates are chosen to be shown one by one, so that a
// monitoring system gets no more names than configured; what the others issue is summed up. An ID
// is counted once: by its sequence or by the others, and no count falls while its name is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/core/words/log_types.h"

namespace seqd {

class Sequence;

class SequenceRates {
 public:
  static constexpr std::size_t kSamplesPerStep = 1'024;  // sequences
  static constexpr std::int64_t kIdleMs = 600'000;       // after that a sequence has no rate
  static constexpr std::int64_t kSmoothMs = 20'000;      // an older rate counts less and less
  static constexpr std::int64_t kMostRunwayMs = 315'360'000'000;

  struct Runway {
    SequenceId sequence = 0;
    std::int64_t ms = 0;
  };
  // What was seen of one sequence in the last round.
  struct Row {
    SequenceId sequence = 0;
    std::int64_t issued = 0;  // in this process, and not counted by the others
    std::int64_t available = 0;
    std::int64_t out = 0;                   // in blocks
    double rate = 0;                        // IDs a second, wanted
    std::optional<std::int64_t> runway_ms;  // none: not known, or it issues nothing
  };
  struct Shown {
    std::vector<Row> rows;           // the highest rate first; then that of the smallest runway
    std::int64_t available = 0;      // of all other sequences together
    std::int64_t out = 0;            // the same
    std::int64_t others_issued = 0;  // since the start, by sequences while they were not shown
  };

  SequenceRates();
  ~SequenceRates();
  SequenceRates(const SequenceRates&) = delete;
  SequenceRates& operator=(const SequenceRates&) = delete;

  // So many sequences are shown at most, besides the one with the smallest runway. From the next
  // round on.
  void show(std::size_t most) { most_rows_ = most; }
  // A sequence that is not noted yet issued, or a request waits for it: until then it had issued
  // `issued` IDs. It lives until dropped() is called.
  void note(Sequence& sequence, std::int64_t issued);
  void dropped(Sequence& sequence);
  // To be called about every second, between two turns. `available`, `out`: IDs of all
  // sequences.
  void step(std::int64_t now_ms, std::int64_t available, std::int64_t out);

  // The smallest runway that is known: of the last round, or of this one if it is smaller. None:
  // nothing is issued.
  const std::optional<Runway>& smallest() const { return smallest_.known; }
  // The same for sequences in an outage: their store had an error at their last sample.
  const std::optional<Runway>& smallest_in_outage() const { return smallest_in_outage_.known; }
  // By what is available now. None: not known, or it issues nothing.
  std::optional<std::int64_t> runway_ms(const Sequence& sequence) const;
  // As of the end of the last round; never null. It stays as it is, whatever follows.
  const std::shared_ptr<const Shown>& shown() const { return shown_; }
  std::size_t noted() const { return entries_.size(); }

 private:
  struct Entry {
    static constexpr std::uint32_t kIdleBits = (1U << 31) - 1;
    Sequence* sequence = nullptr;
    std::int64_t issued = 0;  // at `at_ms`
    std::int64_t refused = 0;
    std::int64_t elsewhere = 0;  // of `issued`: before it was noted, by the others, or shown before
    std::int64_t at_ms = 0;
    float rate = -1;                 // IDs a second; below 0: not known yet
    std::uint32_t idle_ms : 31 = 0;  // since IDs were wanted last
    std::uint32_t shown : 1 = 0;     // as of its last sample
  };

  // The smallest runway of some sequences, over the rounds.
  struct Smallest {
    void consider(const Row& row);
    void dropped(SequenceId id);
    void end_round();
    std::optional<Row> of_round;
    std::optional<Runway> known;  // see smallest()
  };

  void sample(Entry& entry, std::int64_t now_ms);
  void count_for_others(Entry& entry);
  void remove(std::size_t place);
  bool is_shown(const Entry& entry) const;
  void consider(const Entry& entry);
  void end_round(std::int64_t available, std::int64_t out);
  static std::optional<std::int64_t> runway_of(const Entry& entry);

  // In no order; a sequence notes its place, from 1 on. No vector: that has room for twice as many.
  std::deque<Entry> entries_;
  std::size_t next_ = 0;  // of this round
  std::int64_t stepped_ms_ = -1;
  std::size_t most_rows_ = 0;
  std::vector<Row> candidates_;  // of this round: a heap, the lowest rate in front
  Smallest smallest_;
  Smallest smallest_in_outage_;
  std::vector<SequenceId> shown_ids_;  // of shown_, in order
  std::int64_t others_issued_ = 0;
  std::shared_ptr<const Shown> shown_;
};

}  // namespace seqd

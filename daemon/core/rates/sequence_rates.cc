#include "daemon/core/rates/sequence_rates.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

// A rate over less time than this is not meaningful.
constexpr std::int64_t kShortestMs = 500;

// The lowest rate is in front of a heap in this order.
bool is_faster(const SequenceRates::Row& a, const SequenceRates::Row& b) {
  return a.rate > b.rate;
}

// It has nothing that it may issue, and a request needs IDs; or not enough, and one has failed.
// Until its store has confirmed the claim, the available IDs are not issued.
bool lacks_ids(const Sequence& sequence) {
  if (starves(sequence)) return true;
  const bool has_none = sequence.available() == 0 || !sequence.scope().owned();
  return has_none && (sequence.waiters().size() > 0 || sequence.replenisher().wants());
}

}  // namespace

SequenceRates::SequenceRates() : shown_(std::make_shared<const Shown>()) {}
SequenceRates::~SequenceRates() = default;

void SequenceRates::note(Sequence& sequence, std::int64_t issued) {
  ASSERT(sequence.notes().rate_place == 0);
  // It began some time after the last step: a little less than its rate is seen at first.
  entries_.push_back({&sequence, issued, sequence.waiters().refused(), issued, stepped_ms_});
  sequence.notes().rate_place = static_cast<std::uint32_t>(entries_.size());
}

void SequenceRates::dropped(Sequence& sequence) {
  const SequenceId id = sequence.id();
  std::erase_if(candidates_, [id](const Row& row) { return row.sequence == id; });
  std::make_heap(candidates_.begin(), candidates_.end(), is_faster);
  smallest_.dropped(id);
  smallest_in_outage_.dropped(id);
  if (sequence.notes().rate_place > 0) remove(sequence.notes().rate_place - 1);
}

// The last one takes its place; in this round it may be missed.
void SequenceRates::remove(std::size_t place) {
  ASSERT(place < entries_.size());
  count_for_others(entries_[place]);
  entries_[place].sequence->notes().rate_place = 0;
  if (place + 1 < entries_.size()) {
    entries_[place] = entries_.back();
    entries_[place].sequence->notes().rate_place = static_cast<std::uint32_t>(place + 1);
  }
  entries_.pop_back();
}

void SequenceRates::step(std::int64_t now_ms, std::int64_t available, std::int64_t out) {
  ASSERT(now_ms >= stepped_ms_);
  stepped_ms_ = now_ms;
  for (std::size_t samples = 0; samples < kSamplesPerStep && next_ < entries_.size(); ++samples) {
    Entry& entry = entries_[next_];
    sample(entry, now_ms);
    if (entry.idle_ms >= kIdleMs && !lacks_ids(*entry.sequence)) {
      remove(next_);
      continue;
    }
    consider(entry);
    ++next_;
  }
  if (next_ >= entries_.size()) end_round(available, out);
}

void SequenceRates::sample(Entry& entry, std::int64_t now_ms) {
  const std::int64_t issued = entry.sequence->totals().issued;
  ASSERT(issued >= entry.issued);
  const std::int64_t passed_ms = now_ms - entry.at_ms;
  if (entry.at_ms >= 0 && passed_ms < kShortestMs) return;
  const std::int64_t more = issued - entry.issued;
  const std::int64_t wanted = more + entry.sequence->waiters().refused() - entry.refused;
  if (entry.at_ms >= 0) {
    const auto now =
        static_cast<float>(static_cast<double>(wanted) * 1'000.0 / static_cast<double>(passed_ms));
    const float part = static_cast<float>(passed_ms) / static_cast<float>(passed_ms + kSmoothMs);
    entry.rate = entry.rate < 0 ? now : entry.rate + (now - entry.rate) * part;
    const std::int64_t idle_ms = wanted > 0 ? 0 : entry.idle_ms + passed_ms;
    entry.idle_ms = static_cast<std::uint32_t>(std::min(idle_ms, kIdleMs)) & Entry::kIdleBits;
  }
  count_for_others(entry);
  entry.issued = issued;
  entry.refused += wanted - more;
  entry.at_ms = now_ms;
}

// As of its last sample: whether it is shown by then was decided since.
void SequenceRates::count_for_others(Entry& entry) {
  const bool was_shown = entry.shown != 0;
  entry.shown = is_shown(entry) ? 1 : 0;
  if (entry.shown != 0) return;
  if (!was_shown) others_issued_ += entry.issued - entry.elsewhere;
  entry.elsewhere = entry.issued;
}

bool SequenceRates::is_shown(const Entry& entry) const {
  return std::binary_search(shown_ids_.begin(), shown_ids_.end(), entry.sequence->id());
}

std::optional<std::int64_t> SequenceRates::runway_of(const Entry& entry) {
  if (lacks_ids(*entry.sequence)) return 0;
  if (entry.rate <= 0) return std::nullopt;
  const double ms =
      static_cast<double>(entry.sequence->available()) * 1'000.0 / static_cast<double>(entry.rate);
  return static_cast<std::int64_t>(std::min(ms, static_cast<double>(kMostRunwayMs)));
}

std::optional<std::int64_t> SequenceRates::runway_ms(const Sequence& sequence) const {
  const std::size_t place = sequence.notes().rate_place;
  if (place == 0) return std::nullopt;
  ASSERT(entries_.at(place - 1).sequence == &sequence);
  return runway_of(entries_[place - 1]);
}

void SequenceRates::Smallest::consider(const Row& row) {
  if (!row.runway_ms) return;
  if (!of_round || *row.runway_ms < *of_round->runway_ms) of_round = row;
  if (!known || *row.runway_ms < known->ms) known = Runway{row.sequence, *row.runway_ms};
}

void SequenceRates::Smallest::dropped(SequenceId id) {
  if (of_round && of_round->sequence == id) of_round.reset();
  if (known && known->sequence == id) known.reset();
}

void SequenceRates::Smallest::end_round() {
  known.reset();
  if (of_round) known = Runway{of_round->sequence, *of_round->runway_ms};
  of_round.reset();
}

void SequenceRates::consider(const Entry& entry) {
  const Row row{entry.sequence->id(),
                entry.issued - entry.elsewhere,
                entry.sequence->available(),
                entry.sequence->out(),
                std::max(0.0, static_cast<double>(entry.rate)),
                runway_of(entry)};
  smallest_.consider(row);
  if (!entry.sequence->scope().last_error().ok()) smallest_in_outage_.consider(row);
  if (candidates_.size() >= most_rows_) {
    if (candidates_.empty() || !is_faster(row, candidates_.front())) return;
    std::pop_heap(candidates_.begin(), candidates_.end(), is_faster);
    candidates_.pop_back();
  }
  candidates_.push_back(row);
  std::push_heap(candidates_.begin(), candidates_.end(), is_faster);
}

void SequenceRates::end_round(std::int64_t available, std::int64_t out) {
  Shown shown;
  std::sort_heap(candidates_.begin(), candidates_.end(), is_faster);
  shown.rows = std::exchange(candidates_, {});
  const std::optional<Row>& least = smallest_.of_round;
  const bool has_least =
      !least || std::any_of(shown.rows.begin(), shown.rows.end(),
                            [&least](const Row& row) { return row.sequence == least->sequence; });
  if (!has_least && most_rows_ > 0) shown.rows.push_back(*least);
  smallest_.end_round();
  smallest_in_outage_.end_round();
  shown_ids_.clear();
  shown.available = available;
  shown.out = out;
  for (const Row& row : shown.rows) {
    shown.available -= row.available;
    shown.out -= row.out;
    shown_ids_.push_back(row.sequence);
  }
  // Those of a long round were seen at other moments.
  shown.available = std::max<std::int64_t>(shown.available, 0);
  shown.out = std::max<std::int64_t>(shown.out, 0);
  shown.others_issued = others_issued_;
  std::sort(shown_ids_.begin(), shown_ids_.end());
  shown_ = std::make_shared<const Shown>(std::move(shown));
  next_ = 0;
}

}  // namespace seqd

#include "daemon/core/table/sequence_accounts.h"

#include <algorithm>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {
namespace {

std::int64_t bytes_of(const DefineSequence& definition) {
  return StateBounds::kSequenceBytes + StateBounds::kNameBytes +
         static_cast<std::int64_t>(2 * definition.name.size() + definition.binding.size());
}

std::int64_t bytes_of(std::string_view form) {
  return StateBounds::kFormBytes + static_cast<std::int64_t>(form.size());
}

}  // namespace

void SequenceAccounts::scope_defined() {
  defined_bytes_ += StateBounds::kScopeBytes;
}

void SequenceAccounts::defined(const DefineSequence& definition) {
  defined_bytes_ += bytes_of(definition);
}

bool SequenceAccounts::redefine(const DefineSequence& former, const DefineSequence& definition) {
  const std::int64_t more = bytes_of(definition) - bytes_of(former);
  if (more > 0 && state_bytes() + more > most_bytes_) return false;
  defined_bytes_ += more;
  return true;
}

void SequenceAccounts::restored(Sequence& sequence) {
  count(sequence);
  restored_ += sequence.issued();
}

void SequenceAccounts::forgotten(Sequence& sequence) {
  defined_bytes_ -= bytes_of(sequence.definition());
  ASSERT(defined_bytes_ >= 0);
  forgotten_ += sequence.notes().counted.issued;
  add({}, false, sequence.notes());
  rates_.dropped(sequence);
  if (sequence.notes().made) made_.release(sequence.notes().made_by, 1);
  ending_.erase(sequence.id());
}

void SequenceAccounts::form_defined(std::string_view form) {
  defined_bytes_ += bytes_of(form);
}

void SequenceAccounts::form_forgotten(std::string_view form) {
  defined_bytes_ -= bytes_of(form);
  ASSERT(defined_bytes_ >= 0);
}

SequenceAccounts::Held SequenceAccounts::held_by(const Sequence& sequence) {
  // A block is a range and its grant, and what comes back of it is one.
  const std::int64_t ranges = static_cast<std::int64_t>(sequence.held().ranges().size()) +
                              (sequence.leasing() ? 1 : 0) + 2 * sequence.blocks_out();
  return {sequence.issued(), sequence.available(),
          std::max<std::int64_t>(ranges - StateBounds::kRangesIncluded, 0)};
}

void SequenceAccounts::add(const Held& now, bool stopped, Notes& notes) {
  sums_.issued += now.issued - notes.counted.issued;
  sums_.available += now.available - notes.counted.available;
  sums_.extra_ranges += now.extra_ranges - notes.counted.extra_ranges;
  sums_.stopped += (stopped ? 1 : 0) - (notes.stopped ? 1 : 0);
  notes.counted = now;
  notes.stopped = stopped;
}

PendingIssue& SequenceAccounts::issuing(SequenceId sequence, HistorySink* history) {
  issuing_.push_back(sequence);
  if (pending_.size() < issuing_.size())
    pending_.push_back(std::make_unique<PendingIssue>(history));
  return *pending_[issuing_.size() - 1];
}

void SequenceAccounts::issues_flushed() {
  for (std::size_t at = 0; at < issuing_.size(); ++at) ASSERT(pending_[at]->empty());
  issuing_.clear();
}

void SequenceAccounts::update(Sequence& sequence) {
  const Notes& notes = sequence.notes();
  if (notes.rate_place == 0 && (sequence.issued() != notes.counted.issued ||
                                sequence.waiting() > 0 || sequence.waiters().short_of() > 0))
    rates_.note(sequence, notes.counted.issued);
  count(sequence);
}

void SequenceAccounts::count(Sequence& sequence) {
  Notes& notes = sequence.notes();
  add(held_by(sequence), sequence.refuses(), notes);
  if (notes.ending == sequence.exhaustion().may_end_soon()) return;
  notes.ending = !notes.ending;
  if (notes.ending) {
    ending_.insert(sequence.id());
  } else {
    ending_.erase(sequence.id());
  }
}

std::int64_t SequenceAccounts::state_bytes() const {
  ASSERT(defined_bytes_ >= 0 && sums_.extra_ranges >= 0);
  return defined_bytes_ + sums_.extra_ranges * StateBounds::kRangeBytes;
}

bool SequenceAccounts::may_define(const DefineSequence& definition, bool named) const {
  return state_bytes() + bytes_of(definition) <=
         (named ? most_bytes_ : share_of_unnamed(most_bytes_));
}

std::int64_t SequenceAccounts::room_for(const DefineSequence& definition) const {
  return (share_of_unnamed(most_bytes_) - state_bytes()) / bytes_of(definition);
}

bool SequenceAccounts::may_make(UserId user, std::int64_t places) const {
  return made_.allows_of(user, 1, places);
}

void SequenceAccounts::made(const Sequence& sequence, UserId user) {
  sequence.notes().made = true;
  sequence.notes().made_by = user;
  made_.take(user, 1);
}

bool SequenceAccounts::may_define_form(std::string_view form) const {
  return state_bytes() + bytes_of(form) <= most_bytes_;
}

bool SequenceAccounts::may_hold_another_range() const {
  return state_bytes() + StateBounds::kRangeBytes <= most_bytes_;
}

bool SequenceAccounts::may_hold_another_block() const {
  return state_bytes() + 2 * StateBounds::kRangeBytes <= most_bytes_;
}

void SequenceAccounts::waiting_began(SequenceId sequence, const Caller& caller) {
  waiting_.take(caller.user, 1);
  ++waits_[{caller.session, sequence}];
  ASSERT(static_cast<std::int64_t>(waits_.size()) <= waiting_.used());
  if (caller.client != 0) replays_.set_aside(caller.client);
}

void SequenceAccounts::waiting_ended(SequenceId sequence, const Caller& caller) {
  waiting_.release(caller.user, 1);
  const auto found = waits_.find({caller.session, sequence});
  ASSERT(found != waits_.end() && found->second > 0);
  if (--found->second == 0) waits_.erase(found);
  if (caller.client != 0) replays_.release(caller.client);
}

std::vector<SequenceId> SequenceAccounts::waited_for_by(SessionId session) const {
  std::vector<SequenceId> sequences;
  for (auto at = waits_.lower_bound({session, 0}); at != waits_.end(); ++at) {
    if (at->first.first != session) break;
    sequences.push_back(at->first.second);
  }
  return sequences;
}

}  // namespace seqd

#include "daemon/core/sequence/sequence_budgets.h"

#include "daemon/base/assertion.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {
namespace {

std::int64_t bytes_of(const DefineSequence& definition) {
  return StateBounds::kSequenceBytes + StateBounds::kNameBytes +
         static_cast<std::int64_t>(2 * definition.name.size() + definition.binding.size());
}

std::int64_t bytes_of(std::string_view form) {
  return StateBounds::kFormBytes + static_cast<std::int64_t>(form.size());
}

std::int64_t bytes_of_register(std::string_view name) {
  return StateBounds::kRegisterBytes + static_cast<std::int64_t>(name.size());
}

}  // namespace

// --- the room of a snapshot

void SequenceBudgets::scope_defined() {
  defined_bytes_ += StateBounds::kScopeBytes;
}

void SequenceBudgets::defined(const DefineSequence& definition) {
  defined_bytes_ += bytes_of(definition);
}

void SequenceBudgets::forgotten(const DefineSequence& definition) {
  defined_bytes_ -= bytes_of(definition);
  ASSERT(defined_bytes_ >= 0);
}

bool SequenceBudgets::redefine(const DefineSequence& former, const DefineSequence& definition) {
  const std::int64_t more = bytes_of(definition) - bytes_of(former);
  if (more > 0 && state_bytes() + more > most_bytes_) return false;
  defined_bytes_ += more;
  return true;
}

void SequenceBudgets::form_defined(std::string_view form) {
  defined_bytes_ += bytes_of(form);
}

void SequenceBudgets::form_forgotten(std::string_view form) {
  defined_bytes_ -= bytes_of(form);
  ASSERT(defined_bytes_ >= 0);
}

void SequenceBudgets::register_defined(std::string_view name) {
  defined_bytes_ += bytes_of_register(name);
}

bool SequenceBudgets::may_define_register(std::string_view name) const {
  return state_bytes() + bytes_of_register(name) <= most_bytes_;
}

std::int64_t SequenceBudgets::state_bytes() const {
  ASSERT(defined_bytes_ >= 0 && extra_ranges_ >= 0);
  return defined_bytes_ + extra_ranges_ * StateBounds::kRangeBytes;
}

bool SequenceBudgets::may_define(const DefineSequence& definition, bool named) const {
  return state_bytes() + bytes_of(definition) <=
         (named ? most_bytes_ : share_of_unnamed(most_bytes_));
}

std::int64_t SequenceBudgets::room_for(const DefineSequence& definition) const {
  return (share_of_unnamed(most_bytes_) - state_bytes()) / bytes_of(definition);
}

bool SequenceBudgets::may_define_form(std::string_view form) const {
  return state_bytes() + bytes_of(form) <= most_bytes_;
}

bool SequenceBudgets::may_hold_another_range() const {
  return state_bytes() + StateBounds::kRangeBytes <= most_bytes_;
}

bool SequenceBudgets::may_hold_another_block() const {
  return state_bytes() + 2 * StateBounds::kRangeBytes <= most_bytes_;
}

// --- what was issued in this turn

PendingIssue& SequenceBudgets::issuing(SequenceId sequence, HistorySink* history) {
  issuing_.push_back(sequence);
  if (pending_.size() < issuing_.size())
    pending_.push_back(std::make_unique<PendingIssue>(history));
  return *pending_[issuing_.size() - 1];
}

void SequenceBudgets::issues_appended() {
  for (std::size_t at = 0; at < issuing_.size(); ++at) ASSERT(pending_[at]->empty());
  issuing_.clear();
}

// --- requests that wait

void SequenceBudgets::waiting_began(SequenceId sequence, const Caller& caller) {
  waiting_.take(caller.user, 1);
  ++waits_[{caller.session, sequence}];
  ASSERT(static_cast<std::int64_t>(waits_.size()) <= waiting_.used());
  if (caller.client != 0) replays_.set_aside(caller.client);
}

void SequenceBudgets::waiting_ended(SequenceId sequence, const Caller& caller) {
  waiting_.release(caller.user, 1);
  const auto found = waits_.find({caller.session, sequence});
  ASSERT(found != waits_.end() && found->second > 0);
  if (--found->second == 0) waits_.erase(found);
  if (caller.client != 0) replays_.release(caller.client);
}

std::vector<SequenceId> SequenceBudgets::waited_for_by(SessionId session) const {
  std::vector<SequenceId> sequences;
  for (auto at = waits_.lower_bound({session, 0}); at != waits_.end(); ++at) {
    if (at->first.first != session) break;
    sequences.push_back(at->first.second);
  }
  return sequences;
}

}  // namespace seqd

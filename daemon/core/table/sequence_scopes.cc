// The scopes of a SequenceTable, and what its sequences learn of them: a part of sequence_table.h.
#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/table/sequence_moves.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

// Sequences whose remainders are written off in one turn.
constexpr int kLostATurn = 1'000;

}  // namespace

StoreScope& SequenceTable::scope_for(const std::string& store) {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store) return *scope;
  }
  DefineScope definition;
  definition.scope = next_.scope;
  definition.store = store;
  definition.instance = random_token(context_.random);
  context_.log.append(definition);
  return add_scope(definition, {});
}

StoreScope& SequenceTable::add_scope(DefineScope definition, StoreScope::Known known) {
  const ScopeId id = definition.scope;
  budgets_.scope_defined();
  next_.scope = std::max(next_.scope, id + 1);
  const auto store = stores_.find(definition.store);
  StoreScope::Owner& owner = *this;
  auto scope =
      std::make_unique<StoreScope>(context_, owner, std::move(definition), std::move(known),
                                   store == stores_.end() ? nullptr : store->second);
  StoreScope& added = *scopes_.emplace(id, std::move(scope)).first->second;
  SequenceOwner& table = *this;
  contexts_.emplace(id, SequenceContext{context_, table, added, budgets_, refusals_});
  return added;
}

const StoreScope* SequenceTable::scope_of_store(std::string_view store) const {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store) return scope.get();
  }
  return nullptr;
}

void SequenceTable::scope_owned(ScopeId scope) {
  for (const auto& [name, id] : by_name_) {
    if (at(id).scope().id() == scope) at(id).scope_owned();
  }
}

bool SequenceTable::scope_lost(ScopeId scope) {
  int left = kLostATurn;
  for (const auto& [name, id] : by_name_) {
    if (at(id).scope().id() != scope || at(id).holds_nothing()) continue;
    if (left-- == 0 || !at(id).scope_lost()) return false;
  }
  return true;
}

void SequenceTable::scope_moves(ScopeId scope) {
  LeasedBelow leased;
  for (const auto& [name, id] : by_name_) {
    if (const DefineSequence one = at(id).definition(); one.scope == scope) leased.add(one);
  }
  share_marks(leased);
}

bool SequenceTable::scope_holds(ScopeId scope) const {
  return std::any_of(by_name_.begin(), by_name_.end(), [&](const auto& one) {
    const Sequence& sequence = at(one.second);
    return sequence.scope().id() == scope && !sequence.holds_nothing();
  });
}

void SequenceTable::scope_refused(ScopeId scope, const Status& why) {
  ASSERT(!why.ok());
  for (const auto& [name, id] : by_name_) {
    Sequence& sequence = at(id);
    if (sequence.scope().id() == scope && sequence.is_configured()) sequence.scope_refused();
  }
}

void SequenceTable::beat_stores() {
  for (const auto& [id, scope] : scopes_) scope->beat();
}

void SequenceTable::note_silence(std::string_view store, std::int64_t ms) {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store) scope->note_silence(ms);
  }
}

StoreScope* SequenceTable::restored_scope(std::string_view store) {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store && scope->restored()) return scope.get();
  }
  return nullptr;
}

void SequenceTable::note_raised(std::string_view store) {
  StoreScope* const stopped = restored_scope(store);
  if (stopped == nullptr) return;
  stopped->note_raise(std::none_of(by_name_.begin(), by_name_.end(), [&](const auto& one) {
    return &at(one.second).scope() == stopped && at(one.second).awaits_advance();
  }));
}

Status SequenceTable::resume_store(std::string_view store) {
  StoreScope* const stopped = restored_scope(store);
  if (stopped == nullptr) return {};
  for (const auto& [name, id] : by_name_) {
    const Sequence& sequence = at(id);
    if (&sequence.scope() != stopped) continue;
    if (sequence.in_flight())
      return {ErrorCode::UNAVAILABLE,
              "an operation of \"" + sequence.name() + "\" is in progress; try again"};
    if (sequence.awaits_advance())
      return {ErrorCode::SEQ_REGRESSED,
              "the counter of \"" + sequence.name() +
                  "\" is not raised, or another copy of the database was put in place since: "
                  "raise the counters on every host that uses this store, then resume"};
  }
  // In parts, where they are many: discarding again has no effect.
  int left = kLostATurn;
  for (const auto& [name, id] : by_name_) {
    Sequence& sequence = at(id);
    if (&sequence.scope() != stopped) continue;
    if (!sequence.holds_nothing() && left-- == 0)
      return {ErrorCode::UNAVAILABLE, "there are more sequences; try again"};
    if (!sequence.give_up_restored())
      return {ErrorCode::UNAVAILABLE, "the log waits for the medium; try again"};
  }
  stopped->begin_again();
  for (const auto& [name, id] : by_name_) {
    if (&at(id).scope() == stopped) at(id).begin_again();
  }
  return {};
}

}  // namespace seqd

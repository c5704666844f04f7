#include "daemon/core/stores/scopes.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_budgets.h"
#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/stores/sequence_moves.h"

namespace seqd {
namespace {

// Sequences whose remainders are written off in one turn.
constexpr int kLostATurn = 1'000;

}  // namespace

Scopes::Scopes(const Around& around, Stores stores)
    : around_(around), sequences_(around.sequences), stores_(std::move(stores)) {}

// --- which there are

void Scopes::restore(const StateImage& image) {
  ASSERT(rows_.empty());
  next_ = image.next_numbers.scope;
  for (const auto& [id, definition] : image.scopes) {
    StoreScope::Known known;
    if (const auto found = image.databases.find(id); found != image.databases.end())
      known.bound = found->second;
    if (const auto found = image.heartbeats.find(id); found != image.heartbeats.end())
      known.heartbeat = found->second;
    add(definition, std::move(known));
  }
}

void Scopes::start() {
  for (const auto& [name, store] : stores_) of_store(name);
  for (auto& [id, row] : rows_) row.scope.start();
}

StoreScope& Scopes::of_store(const std::string& store) {
  for (auto& [id, row] : rows_) {
    if (row.scope.store_name() == store) return row.scope;
  }
  DefineScope definition;
  definition.scope = next_;
  definition.store = store;
  definition.instance = random_token(around_.core.random);
  around_.core.log.append(definition);
  return add(definition, {});
}

StoreScope& Scopes::add(const DefineScope& definition, StoreScope::Known known) {
  around_.budgets.scope_defined();
  next_ = std::max(next_, definition.scope + 1);
  StoreScope::Owner& owner = *this;
  const auto [row, is_new] = rows_.try_emplace(definition.scope, around_, owner, definition,
                                               std::move(known), store(definition.store));
  ASSERT(is_new);
  return row->second.scope;
}

const StoreScope* Scopes::find(std::string_view store) const {
  for (const auto& [id, row] : rows_) {
    if (row.scope.store_name() == store) return &row.scope;
  }
  return nullptr;
}

std::vector<const StoreScope*> Scopes::all() const {
  std::vector<const StoreScope*> out;
  for (const auto& [id, row] : rows_) out.push_back(&row.scope);
  return out;
}

LeaseStore* Scopes::store(const std::string& name) const {
  const auto found = stores_.find(name);
  return found == stores_.end() ? nullptr : found->second;
}

void Scopes::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  for (const auto& [id, row] : rows_) {
    entry(row.scope.definition());
    if (row.scope.bound()) entry(*row.scope.bound());
    if (row.scope.heartbeat().scope != 0) entry(row.scope.heartbeat());
  }
}

// --- what happens to their sequences

void Scopes::when_durable(std::function<void()> then) {
  around_.table.when_durable(0, std::move(then));
}

void Scopes::scope_owned(ScopeId id) {
  for (Sequence* const one : sequences_.of(at(id))) one->scope_owned();
}

void Scopes::scope_failed(ScopeId id) {
  std::vector<SequenceId> waiting = looks_.waiting();
  for (const Sequence* const one : sequences_.all()) {
    if (one->draining().active()) waiting.push_back(one->id());
  }
  for (const SequenceId one : waiting) {
    if (sequences_.contains(one) && sequences_.at(one).scope().id() == id)
      sequences_.at(one).looked(false);
  }
}

bool Scopes::scope_lost(ScopeId id) {
  int left = kLostATurn;
  for (Sequence* const one : sequences_.of(at(id))) {
    if (holds_nothing(*one)) continue;
    if (left-- == 0 || !one->scope_lost()) return false;
  }
  return true;
}

// A sequence that is configured for another store, and has not moved there yet, counts here, too.
void Scopes::scope_moves(ScopeId id) {
  LeasedBelow leased;
  for (const Sequence* const one : sequences_.all()) {
    if (const DefineSequence defined = one->definition().logged(); defined.scope == id)
      leased.add(defined);
  }
  share_marks(sequences_, leased);
}

bool Scopes::scope_holds(ScopeId id) const {
  const StoreScope& scope = rows_.at(id).scope;
  return std::ranges::any_of(sequences_.by_name(), [&scope](const auto& one) {
    return &one.second->scope() == &scope && !holds_nothing(*one.second);
  });
}

void Scopes::scope_refused(ScopeId id, const Status& why) {
  ASSERT(!why.ok());
  for (Sequence* const one : sequences_.of(at(id))) {
    if (is_configured(*one)) one->scope_refused();
  }
}

void Scopes::beat() {
  for (auto& [id, row] : rows_) row.scope.beat();
}

void Scopes::note_silence(std::string_view store, std::int64_t ms) {
  for (auto& [id, row] : rows_) {
    if (row.scope.store_name() == store) row.scope.note_silence(ms);
  }
}

// --- a store that was put back

StoreScope* Scopes::find_restored(std::string_view store) {
  for (auto& [id, row] : rows_) {
    if (row.scope.store_name() == store && row.scope.restored()) return &row.scope;
  }
  return nullptr;
}

void Scopes::note_raised(std::string_view store) {
  StoreScope* const stopped = find_restored(store);
  if (stopped == nullptr) return;
  stopped->note_raise(std::ranges::none_of(
      sequences_.of(*stopped), [](const Sequence* one) { return awaits_advance(*one); }));
}

Status Scopes::resume(std::string_view store) {
  StoreScope* const stopped = find_restored(store);
  if (stopped == nullptr) return {};
  for (const Sequence* const one : sequences_.of(*stopped)) {
    if (in_flight(*one))
      return {ErrorCode::UNAVAILABLE,
              "an operation of \"" + one->name() + "\" is in progress; try again"};
    if (awaits_advance(*one))
      return {ErrorCode::SEQ_REGRESSED,
              "the counter of \"" + one->name() +
                  "\" is not raised, or another copy of the database was put in place since: "
                  "raise the counters on every host that uses this store, then resume"};
  }
  // In parts, where they are many: discarding again has no effect.
  int left = kLostATurn;
  for (Sequence* const one : sequences_.of(*stopped)) {
    if (!holds_nothing(*one) && left-- == 0)
      return {ErrorCode::UNAVAILABLE, "there are more sequences; try again"};
    if (!one->give_up_restored())
      return {ErrorCode::UNAVAILABLE, "the log waits for the medium; try again"};
  }
  stopped->begin_again();
  for (Sequence* const one : sequences_.of(*stopped)) one->begin_again();
  return {};
}

// --- floors

void Scopes::read_floor(SequenceId id, std::function<void(const Status&)> done) {
  const Sequence& sequence = sequences_.at(id);
  LeaseStore* const store = sequence.scope().store();
  ASSERT(store != nullptr);
  auto seen = [this, id, &scope = at(sequence.scope().id()),
               done = std::move(done)](const Result<CounterReading>& reading) {
    scope.note(as_seen_of_store(reading.status()));
    if (reading.ok() && sequences_.contains(id) && !sequences_.at(id).counter_read(*reading))
      scope.note_raise(false);
    end_look(id, as_seen_of_store(reading.status()).ok());
    done(reading.status());
  };
  store->read({sequence.definition().binding(), sequence.scope().instance()},
              alive_.guard(std::move(seen)));
}

void Scopes::look(SequenceId id) {
  if (looks_.begin(id, sequences_.at(id).scope().verified())) read_floor(id, [](const Status&) {});
}

void Scopes::end_look(SequenceId id, bool over) {
  looks_.end(id);
  if (sequences_.contains(id)) sequences_.at(id).looked(over);
}

// --- the end

void Scopes::stop() {
  for (auto& [id, row] : rows_) row.scope.stop();
}

bool Scopes::settled() const {
  return std::all_of(rows_.begin(), rows_.end(),
                     [](const auto& one) { return one.second.scope.settled(); });
}

bool Scopes::leave_clean() {
  bool recorded = false;
  for (auto& [id, row] : rows_) recorded = row.scope.leave_clean() || recorded;
  return recorded;
}

}  // namespace seqd

#include "daemon/core/sequence_table.h"

#include <algorithm>
#include <utility>

#include "daemon/core/counter_identity.h"

namespace seqd {

SequenceTable::SequenceTable(const CoreContext& context, const SettingsSource& settings,
                             Stores stores, const Limits& limits)
    : context_(context),
      settings_(settings),
      stores_(std::move(stores)),
      limits_(limits),
      replays_(context.log, limits.replays) {
  sequences_.emplace_back(nullptr);
}

SequenceTable::~SequenceTable() {
  context_.timers.cancel(period_timer_);
}

// --- start
// ---------------------------------------------------------------------------------------------------------

void SequenceTable::restore(const StateImage& image) {
  CHECK(by_name_.empty() && scopes_.empty());
  next_ = image.next_numbers;
  for (const auto& [id, definition] : image.scopes) add_scope(definition);
  for (const auto& [id, sequence] : image.sequences) restore_sequence(sequence);
  replays_.restore(image, context_.clock.monotonic_ms());
  for (const auto& [name, store] : stores_) scope_for(name);
  for (const auto& [id, scope] : scopes_) scope->start();
}

void SequenceTable::restore_sequence(const SequenceImage& image) {
  StoreScope& scope = *scopes_.at(image.definition.scope);
  const SequenceSettings* configured = settings_.find(image.definition.name);
  SequenceSettings settings = configured != nullptr ? *configured : SequenceSettings();
  const bool moved = configured != nullptr && settings.mode == SequenceMode::lease &&
                     (settings.store != scope.store_name() ||
                      !same_counter(image.definition.binding, settings.binding, settings.shape));
  Sequence& sequence = add_sequence(image.definition, settings);
  sequence.restore(image);
  know_periods(image.definition.name, settings);
  if (configured == nullptr) {
    sequence.refuse(
        {ErrorCode::NO_SEQUENCE,
         "\"" + image.definition.name + "\" is not configured any more; its remainder is kept"});
  } else if (settings.mode == SequenceMode::insert) {
    sequence.refuse({ErrorCode::SEQ_CHANGED,
                     "\"" + image.definition.name +
                         "\" leased ranges before, which are kept, and is configured to insert "
                         "documents now: give the sequence that inserts another name"});
  } else if (moved) {
    sequence.refuse({ErrorCode::SEQ_CHANGED,
                     "the remainder of \"" + image.definition.name + "\" came from store \"" +
                         scope.store_name() + "\", counter " + image.definition.binding +
                         "; the configuration says store \"" + settings.store + "\", counter " +
                         binding_text(settings.binding, settings.shape) +
                         ": configure the former counter, or give the sequence another name"});
  }
}

StoreScope& SequenceTable::scope_for(const std::string& store) {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store) return *scope;
  }
  DefineScope definition;
  definition.scope = next_.scope;
  definition.store = store;
  definition.instance = random_token(context_.random);
  context_.log.append(definition);
  return add_scope(definition);
}

StoreScope& SequenceTable::add_scope(DefineScope definition) {
  const ScopeId id = definition.scope;
  next_.scope = std::max(next_.scope, id + 1);
  const auto store = stores_.find(definition.store);
  StoreScope::Owner& owner = *this;
  auto scope = std::make_unique<StoreScope>(context_, owner, std::move(definition),
                                            store == stores_.end() ? nullptr : store->second);
  return *scopes_.emplace(id, std::move(scope)).first->second;
}

Sequence& SequenceTable::add_sequence(const DefineSequence& definition,
                                      const SequenceSettings& settings) {
  const SequenceId id = definition.sequence;
  next_.sequence = std::max(next_.sequence, id + 1);
  if (sequences_.size() <= id) sequences_.resize(id + 1);
  SequenceOwner& attention = *this;
  sequences_[id] = std::make_unique<Sequence>(context_, attention, settings,
                                              *scopes_.at(definition.scope), definition);
  by_name_[definition.name] = id;
  return *sequences_[id];
}

// --- requests
// ------------------------------------------------------------------------------------------------------

Result<SequenceId> SequenceTable::open(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  if (const SequenceId now = periods_.sequence_at(name, context_.clock.wall_ms() / 1'000); now != 0)
    return now;
  if (!ending_.ok()) return ending_;
  if (!refusing_.ok()) return refusing_;
  const std::string text(name);
  const SequenceSettings* settings = settings_.find(text);
  if (settings == nullptr) {
    return Status(ErrorCode::NO_SEQUENCE,
                  "\"" + text +
                      "\" is not configured, and the configuration does not allow creating it "
                      "(daemon.create); add [sequence.\"" +
                      text + "\"]");
  }
  if (settings->mode == SequenceMode::insert) return inserts_only(name);
  if (settings->periods.rule != nullptr && !settings->periods.current)
    return open_period(text, *settings);
  if (by_name_.size() >= limits_.sequences) {
    return Status(ErrorCode::BUSY, "there are " + std::to_string(by_name_.size()) +
                                       " sequences already (limits.max_sequences)");
  }
  const auto store = stores_.find(settings->store);
  if (store == stores_.end()) {
    return Status(ErrorCode::CONFIG, "\"" + text + "\" names the store \"" + settings->store +
                                         "\", which is not running; restart the daemon to use it");
  }
  DefineSequence definition;
  definition.sequence = next_.sequence;
  definition.scope = scope_for(settings->store).id();
  definition.name = text;
  definition.binding = binding_text(settings->binding, settings->shape);
  definition.guard = guard_of_new(name, *settings);
  context_.log.append(definition);
  return add_sequence(definition, *settings).id();
}

SequenceId SequenceTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? find_period(name) : found->second;
}

std::shared_ptr<const IdFormat> SequenceTable::format_of(std::string_view name) const {
  const SequenceId id = find(name);
  return id == 0 ? settings_.find_format(base_of(name)) : at(id).settings().text.made;
}

std::vector<const Sequence*> SequenceTable::list() const {
  std::vector<const Sequence*> out;
  out.reserve(by_name_.size());
  for (const auto& [name, id] : by_name_) out.push_back(sequences_[id].get());
  return out;
}

const StoreScope* SequenceTable::scope_of_store(std::string_view store) const {
  for (const auto& [id, scope] : scopes_) {
    if (scope->store_name() == store) return scope.get();
  }
  return nullptr;
}

void SequenceTable::cancel(SessionId session) {
  for (const auto& [name, id] : by_name_) {
    if (sequences_[id]->waiting() > 0) sequences_[id]->cancel(session);
  }
}

std::int64_t SequenceTable::waiting() const {
  std::int64_t sum = 0;
  for (const auto& [name, id] : by_name_) sum += sequences_[id]->waiting();
  return sum;
}

// --- the turn
// ------------------------------------------------------------------------------------------------------

void SequenceTable::touched(SequenceId sequence) {
  touched_.push_back(sequence);
}

void SequenceTable::flush_issues() {
  for (const SequenceId id : touched_) sequences_[id]->flush_issues();
}

void SequenceTable::end_turn() {
  // One round: what a pump touches again (a log that does not accept) is for the next turn.
  pumped_.clear();
  pumped_.swap(touched_);
  for (const SequenceId id : pumped_) sequences_[id]->pump();
}

void SequenceTable::wait_durable(SequenceId sequence) {
  awaiting_.push_back({context_.log.next_position(), sequence, 0});
  context_.log.make_durable();
}

void SequenceTable::scope_appended(ScopeId scope) {
  awaiting_.push_back({context_.log.next_position(), 0, scope});
  context_.log.make_durable();
}

void SequenceTable::recorded(const Issued& issue) {
  replays_.record(issue);
}

void SequenceTable::durable(LogPosition position) {
  while (!awaiting_.empty() && awaiting_.front().position <= position) {
    const AwaitingFlush next = awaiting_.front();
    awaiting_.pop_front();
    if (next.sequence != 0) {
      sequences_[next.sequence]->durable(position);
    } else {
      scopes_.at(next.scope)->durable();
    }
  }
}

void SequenceTable::flush_failed(const Status& status) {
  if (ending_.ok()) ending_ = status;
  for (const auto& [name, id] : by_name_) sequences_[id]->log_failed(status);
}

void SequenceTable::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  entry(next_);
  for (const auto& [id, scope] : scopes_) entry(scope->definition());
  for (const auto& [name, id] : by_name_) sequences_[id]->snapshot(entry);
  replays_.snapshot(entry);
}

// --- scopes
// --------------------------------------------------------------------------------------------------------

void SequenceTable::scope_owned(ScopeId scope) {
  for (const auto& [name, id] : by_name_) {
    if (sequences_[id]->scope().id() == scope) sequences_[id]->scope_owned();
  }
}

void SequenceTable::scope_lost(ScopeId scope) {
  for (const auto& [name, id] : by_name_) {
    if (sequences_[id]->scope().id() == scope) sequences_[id]->scope_lost();
  }
}

namespace {

// What to raise the counter to when `next_id` is asked for; 0: above all that was ever granted.
Result<std::int64_t> advance_target(const Sequence& sequence, std::int64_t next_id) {
  // Refused for another reason than its counter: there is nothing that a counter could mend.
  const Status& stopped = sequence.stopped();
  if (!stopped.ok() && stopped.code() != ErrorCode::SEQ_REGRESSED) return stopped;
  // The end of what this host was granted is about to be another.
  if (sequence.draining().blocks_leases()) {
    return Status(ErrorCode::UNAVAILABLE,
                  "\"" + sequence.name() + "\" is being drained; ask again when it is");
  }
  const std::int64_t lowest = std::max<std::int64_t>(sequence.guard(), 1);
  const std::int64_t highest = sequence.settings().last_position();
  if (next_id == 0) next_id = lowest;
  if (next_id < lowest) {
    return Status(ErrorCode::BAD_REQUEST,
                  std::to_string(next_id) + " is below " + std::to_string(lowest) +
                      ", up to which \"" + sequence.name() + "\" was leased by this host already");
  }
  if (next_id > highest) {
    return Status(ErrorCode::BAD_REQUEST, std::to_string(next_id) + " is above max_value of \"" +
                                              sequence.name() + "\", " + std::to_string(highest));
  }
  return next_id;
}

}  // namespace

void SequenceTable::look_at_floor(SequenceId id, std::function<void(const Status&)> done) {
  const Sequence& sequence = at(id);
  sequence.scope().store()->read(
      {sequence.settings().binding, sequence.scope().instance()},
      [this, id, done = std::move(done)](const Result<CounterReading>& reading) {
        if (reading.ok() && is_there(id)) at(id).counter_read(*reading);
        done(reading.status());
      });
}

void SequenceTable::advance(SequenceId id, std::int64_t next_id, bool withdraw,
                            std::function<void(Result<std::int64_t>)> done) {
  Sequence& sequence = at(id);
  LeaseStore* const store = sequence.scope().store();
  Result<std::int64_t> wanted = advance_target(sequence, next_id);
  if (wanted.ok() && store == nullptr) {
    wanted = Status(ErrorCode::CONFIG, "store \"" + sequence.scope().store_name() +
                                           "\" is not running; configure it and restart");
  }
  if (!wanted.ok()) {
    context_.timers.schedule(0, [done = std::move(done), wanted] { done(wanted); });
    return;
  }
  auto answer = [this, id, withdraw, done = std::move(done)](Result<std::int64_t> reached) {
    at(id).end_advance(reached);
    if (!withdraw || !reached.ok()) return done(std::move(reached));
    look_at_floor(id, [reached, done](const Status& seen) {
      done(seen.ok() ? reached : Result<std::int64_t>(seen));
    });
  };
  sequence.begin_advance();
  store->advance({sequence.settings().binding, *wanted, withdraw}, std::move(answer));
}

Status SequenceTable::check_drainable(const Sequence& sequence) const {
  const StoreScope& scope = sequence.scope();
  const Status& stopped = sequence.stopped();
  if (!ending_.ok()) return ending_;
  if (!stopped.ok() && stopped.code() != ErrorCode::SEQ_REGRESSED) return stopped;
  if (scope.store() == nullptr) {
    return {ErrorCode::CONFIG,
            "store \"" + scope.store_name() + "\" is not running; configure it and restart"};
  }
  if (!scope.owned()) {
    return {ErrorCode::UNAVAILABLE, "the remainder of store \"" + scope.store_name() +
                                        "\" is not claimed yet, so it is not ours to give back: " +
                                        (scope.last_error().ok() ? "the store has not answered"
                                                                 : scope.last_error().to_string())};
  }
  return {};
}

Status SequenceTable::drain(SequenceId id, std::int64_t timeout_ms, Drain::Done done) {
  Sequence& sequence = at(id);
  if (Status status = check_drainable(sequence); !status.ok()) return status;
  sequence.drain(context_.clock.monotonic_ms() + timeout_ms, std::move(done));
  return {};
}

// --- reload and stop
// -----------------------------------------------------------------------------------------------

std::vector<std::string> SequenceTable::apply_settings(const Limits& limits) {
  limits_ = limits;
  replays_.set_limits(limits.replays);
  std::vector<std::string> not_applied;
  for (const auto& [name, id] : by_name_) {
    const SequenceSettings* settings = settings_.find(name);
    Sequence& sequence = *sequences_[id];
    if (settings == nullptr || settings->store != sequence.scope().store_name() ||
        !(settings->binding == sequence.settings().binding) ||
        !(settings->shape == sequence.settings().shape)) {
      if (sequence.error().code() != ErrorCode::NO_SEQUENCE) not_applied.push_back(name);
      continue;
    }
    sequence.apply_settings(*settings);
    know_periods(name, *settings);
  }
  return not_applied;
}

void SequenceTable::refuse_requests(const Status& why) {
  refusing_ = why;
  for (const auto& [name, id] : by_name_) sequences_[id]->refuse_requests(why);
}

void SequenceTable::begin_stop(const Status& why) {
  ending_ = why;
  for (const auto& [id, scope] : scopes_) scope->stop();
  for (const auto& [name, id] : by_name_) sequences_[id]->begin_stop(why);
}

bool SequenceTable::settled() const {
  return std::none_of(by_name_.begin(), by_name_.end(),
                      [this](const auto& one) { return sequences_[one.second]->in_flight(); });
}

bool SequenceTable::leave_clean() {
  flush_issues();
  bool recorded = false;
  for (const auto& [id, scope] : scopes_) recorded = scope->leave_clean() || recorded;
  if (recorded) context_.log.make_durable();
  return recorded;
}

}  // namespace seqd

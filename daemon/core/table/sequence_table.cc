#include "daemon/core/table/sequence_table.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/settings/counter_identity.h"
#include "daemon/core/stores/sequence_moves.h"

namespace seqd {
namespace {

// IDs are what they were when they were leased from the counter `held`. `stays`: the settings are
// those of another one, whose bounds are not theirs.
void keep_ids(const std::string& held, bool stays, SequenceSettings& settings) {
  settings.progression.compiled =
      held_progression(held, stays ? ProgressionSettings() : settings.progression);
  if (stays) settings.max_value = kLastOrdinal;
}

}  // namespace

SequenceTable::SequenceTable(const CoreContext& context, const SettingsSource& settings,
                             Stores stores, const TableLimits& limits, BlockPages* pages)
    : context_(context),
      settings_(settings),
      limits_(limits),
      replays_(context.log, limits.replays),
      budgets_(replays_, limits.state_bytes, limits.waiting),
      accounts_(budgets_),
      blocks_(
          context_,
          [this](const Block& block, std::optional<std::int64_t> taken) {
            at(block.granted.sequence).block_over(block, taken);
          },
          pages, limits.blocks),
      scopes_({context_, *this, sequences_, budgets_, refusals_}, std::move(stores)),
      names_(context_.log),
      orders_({context_, settings_, refusals_, sequences_, scopes_},
              [this](Sequence& sequence) { return forget(sequence, nullptr); }),
      ends_({context_, refusals_, limits_, names_, sequences_},
            [this](Sequence& sequence, const PeriodSpan& period) { forget(sequence, &period); }) {}

// --- start

void SequenceTable::restore(const StateImage& image) {
  ASSERT(sequences_.size() == 0);
  next_ = image.next_numbers;
  for (const auto& [name, known] : image.names) {
    for (const std::string& form : known.forms) budgets_.form_defined(form);
  }
  scopes_.restore(image);
  blocks_.restore(image);
  blocks_.await_clients();  // before a sequence that may not be served ends its blocks
  Moves moves(image);
  for (const auto& [id, sequence] : image.sequences) restore_sequence(sequence, moves);
  restore_names(image);
  if (!moves.moved.empty()) share_marks(sequences_, moves.moved);
  replays_.restore(image, context_.clock.monotonic_ms());
  scopes_.start();
}

void SequenceTable::restore_names(const StateImage& image) {
  // Both are in the order of the names.
  auto known = image.names.begin();
  for (const auto& [name, sequence] : sequences_.by_name()) {
    for (; known != image.names.end() && known->first < name; ++known)
      names_.restore(known->second, false);
    if (known != image.names.end() && known->first == name) {
      names_.restore((known++)->second, true);
    } else if (period_of(name).empty()) {
      names_.restore_unnamed(name);
    }
  }
  for (; known != image.names.end(); ++known) names_.restore(known->second, false);
}

void SequenceTable::restore_sequence(const SequenceImage& image, Moves& all) {
  DefineSequence definition = image.definition;
  const SequenceSettings* configured = settings_.find(definition.name);
  SequenceSettings settings = configured != nullptr ? *configured : SequenceSettings();
  const StoreScope& scope = scopes_.at(definition.scope);
  Stopped wrong = check_configured(definition, scope, configured);
  const bool moves = wrong.by == Stop::elsewhere && !has_open_ranges(image) &&
                     may_move(definition, *configured) && scopes_.store(settings.store) != nullptr;
  const bool stays = wrong.by != Stop::none && !moves;
  keep_ids(definition.binding, stays, settings);
  if (moves) {
    definition.scope = scopes_.of_store(settings.store).id();
    definition.binding = binding_text(configured->binding, configured->progression);
  }
  Sequence& sequence = add(definition, settings);
  budgets_.defined(image.definition);
  sequence.restore(image);
  if (moves) {
    if (all.leased.empty()) {
      for (const auto& [id, one] : all.image.sequences) all.leased.add(one.definition);
    }
    all.moved.add(image.definition);
    sequence.move_from({image.definition, counter_place(scope, image.definition.binding),
                        all.leased.of(image.definition)});
  }
  accounts_.restored(sequence);
  know_periods(sequence.name(), settings);
  if (stays) sequence.set_stopped(std::move(wrong));
}

Sequence& SequenceTable::add(const DefineSequence& definition, SequenceSettings settings) {
  next_.sequence = std::max(next_.sequence, definition.sequence + 1);
  const std::string key = std::exchange(settings.binding.key, {});
  return sequences_.add(std::make_unique<Sequence>(scopes_.context_of(definition.scope),
                                                   shared_settings_.find(std::move(settings)), key,
                                                   definition));
}

// --- what is there

SequenceId SequenceTable::find(std::string_view name) const {
  const Sequence* const found = sequences_.find(name);
  return found == nullptr ? find_period(name) : found->id();
}

SequenceId SequenceTable::find_period(std::string_view base) const {
  const PeriodRule* const rule = names_.periods().rule_of(base);
  if (rule == nullptr) return 0;
  const Sequence* const found = sequences_.find(period_sequence(base, rule->at(now_s()).name));
  return found == nullptr ? 0 : found->id();
}

bool SequenceTable::is_present_period(std::string_view name) const {
  const PeriodRule* rule = names_.periods().rule_of(base_of(name));
  if (rule == nullptr) {  // no ID of it was asked for yet
    const SequenceSettings* const settings = settings_.find(std::string(base_of(name)));
    if (settings != nullptr) rule = settings->periods.rule.get();
  }
  return rule != nullptr && rule->at(now_s()).name == period_of(name);
}

std::shared_ptr<const IdFormat> SequenceTable::format_of(std::string_view name) const {
  const SequenceId id = find(name);
  return id == 0 ? settings_.find_format(base_of(name)) : at(id).settings().text.compiled;
}

const AccessSettings* SequenceTable::access_of(std::string_view name) const {
  const SequenceId id = find(name);
  return id == 0 ? settings_.find_access(base_of(name)) : &at(id).settings().access;
}

void SequenceTable::cancel(SessionId session, const Refusal& why) {
  for (const SequenceId id : budgets_.waited_for_by(session)) {
    const Status refused = why ? why(at(id).name()) : Status();
    if (!why || !refused.ok()) at(id).cancel(session, refused);
  }
}

// --- forgetting

// Of a period its name remains, with what is known of it; of a sequence without periods nothing,
// unless other sequences have the name.
bool SequenceTable::forget(Sequence& sequence, const PeriodSpan* period) {
  const SequenceId id = sequence.id();
  const auto waits = [id](const AwaitingFlush& one) { return one.sequence == id; };
  if (!sequence.holds_nothing() || sequence.waiting() > 0 || sequence.in_flight() ||
      sequence.draining().active() || replays_.keeps(id) ||
      std::find(touched_.begin(), touched_.end(), &sequence) != touched_.end() ||
      std::any_of(awaiting_.begin(), awaiting_.end(), waits))
    return false;
  const std::string base(base_of(sequence.name()));
  ASSERT((period != nullptr) == (base != sequence.name()));
  if (period != nullptr) names_.add_forgotten_period(base, *period);
  context_.log.append(ForgetSequence{id});
  budgets_.forgotten(sequence.definition());
  accounts_.forgotten(sequence);
  sequences_.remove(sequence);
  if (period != nullptr || sequences_.find_any_period(base) != nullptr) return true;
  for (const std::string& form : names_.forget(base)) budgets_.form_forgotten(form);
  return true;
}

// --- the turn

std::size_t SequenceTable::flush_issues() {
  // Not all that were touched: any user may request this any number of times.
  const std::size_t count = budgets_.issuing().size();
  for (const SequenceId id : budgets_.issuing()) at(id).flush_issues();
  budgets_.issues_flushed();
  return count;
}

void SequenceTable::end_turn() {
  if (touched_.empty()) return ASSERT(budgets_.issuing().empty());  // issuing touches a sequence
  // One round: what a pump touches again (a log that does not accept) is for the next turn.
  pumped_.clear();
  pumped_.swap(touched_);
  for (Sequence* sequence : pumped_) {
    sequence->pump();
    accounts_.update(*sequence);
  }
  budgets_.issues_flushed();
}

void SequenceTable::when_durable(SequenceId sequence, std::function<void()> then) {
  const LogPosition position = context_.log.next_position();
  ASSERT(then != nullptr && (awaiting_.empty() || awaiting_.back().position <= position));
  awaiting_.push_back({position, sequence, std::move(then)});
  context_.log.make_durable();
}

void SequenceTable::recorded(const Issued& issue) {
  ASSERT(issue.client != 0);
  replays_.record(issue);
}

void SequenceTable::block_granted(Sequence& sequence) {
  accounts_.update(sequence);
}

void SequenceTable::durable(LogPosition position) {
  names_.durable(position);
  while (!awaiting_.empty() && awaiting_.front().position <= position) {
    const AwaitingFlush next = std::move(awaiting_.front());
    awaiting_.pop_front();
    next.then();
  }
}

void SequenceTable::flush_failed(const Status& status) {
  ASSERT(!status.ok());
  refusals_.log_failed = status;
  for (Sequence* const one : sequences_.all()) one->log_failed();
}

void SequenceTable::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  NextNumbers next = next_;
  next.scope = scopes_.next();
  entry(next);
  scopes_.snapshot(entry);
  for (const Sequence* const one : sequences_.all()) {
    one->snapshot(entry);
    if (names_.is_plain(one->name())) entry(DefineName{one->name(), 0, {}, {}});
  }
  names_.snapshot(entry);
  replays_.snapshot(entry);
}

// --- reload and stop

std::vector<std::string> SequenceTable::apply_settings(const TableLimits& limits) {
  limits_ = limits;
  replays_.set_limits(limits.replays);
  budgets_.set_limits(limits.state_bytes, limits.waiting);
  std::vector<std::string> not_applied;
  for (Sequence* const one : sequences_.all()) {
    Sequence& sequence = *one;
    const SequenceSettings* settings = settings_.find(sequence.name());
    const Stopped wrong = check_configured(sequence.definition(), sequence.scope(), settings);
    if (sequence.stop() == Stop::unconfigured) {
      if (settings == nullptr) continue;
      // It may have come back with another counter.
      if (wrong.by != Stop::none) sequence.set_stopped(wrong);
    } else if (settings == nullptr ||
               (sequence.stop() == Stop::elsewhere && wrong.by == Stop::none &&
                !sequence.scope().refuses()) ||
               settings->store != sequence.scope().store_name() ||
               !(settings->binding == sequence.binding()) ||
               !(settings->progression == sequence.settings().progression)) {
      not_applied.push_back(sequence.name());
      continue;
    }
    SequenceSettings shared = *settings;
    const bool stays = wrong.by != Stop::none &&
                       (sequence.stop() == Stop::elsewhere || sequence.stop() == Stop::changed);
    keep_ids(sequence.definition().binding, stays, shared);
    const std::string key = std::exchange(shared.binding.key, {});
    sequence.apply_settings(shared_settings_.find(std::move(shared)), key);
    know_periods(sequence.name(), *settings);
  }
  return not_applied;
}

void SequenceTable::refuse_requests(const Status& why) {
  refusals_.refusing = why;
  for (Sequence* const one : sequences_.all()) one->requests_refused();
}

void SequenceTable::begin_stop(const Status& why) {
  ASSERT(!why.ok());
  blocks_.end_all();  // while what ends may still be withdrawn
  refusals_.ending = why;
  scopes_.stop();
  for (Sequence* const one : sequences_.all()) one->begin_stop();
}

bool SequenceTable::settled() const {
  return scopes_.settled() && std::ranges::none_of(sequences_.by_name(), [](const auto& one) {
           return one.second->in_flight();
         });
}

bool SequenceTable::leave_clean() {
  static_cast<void>(flush_issues());
  const bool recorded = scopes_.leave_clean();
  if (recorded) context_.log.make_durable();
  return recorded;
}

}  // namespace seqd

// Other parts of sequence_table.h: sequence_opening.cc makes sequences, sequence_configuring.cc
// applies the configuration to those that the log has.
#include "daemon/core/table/sequence_table.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/stores/sequence_moves.h"

namespace seqd {

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
  next_sequence_ = image.next_numbers.sequence;
  for (const auto& [name, known] : image.names) {
    for (const std::string& form : known.forms) budgets_.form_defined(form);
  }
  for (const auto& [key, known] : image.registers) budgets_.register_defined(key.second);
  names_.registers().restore(image.registers);
  scopes_.restore(image);
  blocks_.restore(image);  // before a sequence that may not be served ends its blocks
  Moves moves(image);
  for (const auto& [id, sequence] : image.sequences) restore_sequence(sequence, moves);
  restore_names(image);
  moves.share_marks_with(sequences_);
  replays_.restore(image, context_.clock.monotonic_ms());
  scopes_.start();
}

void SequenceTable::restore_names(const StateImage& image) {
  // Both are in the order of the names.
  auto known = image.names.begin();
  for (const auto& [name, sequence] : sequences_.by_name()) {
    for (; known != image.names.end() && known->first < name; ++known)
      names_.restore(known->second, false);
    if (known != image.names.end() && known->first == name) names_.restore((known++)->second, true);
  }
  for (; known != image.names.end(); ++known) names_.restore(known->second, false);
}

Sequence& SequenceTable::add(const DefineSequence& definition, SequenceSettings settings) {
  next_sequence_ = std::max(next_sequence_, definition.sequence + 1);
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
  if (!holds_nothing(sequence) || sequence.waiters().size() > 0 || in_flight(sequence) ||
      sequence.draining().active() || replays_.keeps(id) ||
      std::find(touched_.begin(), touched_.end(), &sequence) != touched_.end() ||
      std::any_of(awaiting_.begin(), awaiting_.end(), waits))
    return false;
  const std::string base(base_of(sequence.name()));
  ASSERT((period != nullptr) == (base != sequence.name()));
  if (period != nullptr) names_.add_forgotten_period(base, *period);
  context_.log.append(ForgetSequence{id});
  budgets_.forgotten(sequence.definition().logged());
  accounts_.forgotten(sequence);
  sequences_.remove(sequence);
  if (period != nullptr || sequences_.find_any_period(base) != nullptr) return true;
  for (const std::string& form : names_.forget(base)) budgets_.form_forgotten(form);
  return true;
}

// --- the turn

std::size_t SequenceTable::append_issues() {
  // Not all that were touched: any user may request this any number of times.
  const std::size_t count = budgets_.issuing().size();
  for (const SequenceId id : budgets_.issuing()) at(id).append_issues();
  budgets_.issues_appended();
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
  budgets_.issues_appended();
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
  // That of clients: ReplayTable::snapshot(). Of each the highest counts.
  entry(NextNumbers{.sequence = next_sequence_, .scope = scopes_.next()});
  scopes_.snapshot(entry);
  for (const Sequence* const one : sequences_.all()) {
    one->snapshot(entry);
    if (names_.is_plain(one->name())) entry(DefineName{one->name(), 0, {}, {}});
  }
  names_.snapshot(entry);
  replays_.snapshot(entry);
}

// --- the end

void SequenceTable::refuse_requests(const Status& why) {
  refusals_.refusing = why;
  for (Sequence* const one : sequences_.all()) one->refusing_changed();
}

void SequenceTable::begin_stop(const Status& why) {
  ASSERT(!why.ok());
  blocks_.end_all();  // while what ends may still be withdrawn
  refusals_.ending = why;
  scopes_.stop();
  for (Sequence* const one : sequences_.all()) one->ending_began();
}

bool SequenceTable::settled() const {
  return scopes_.settled() && std::ranges::none_of(sequences_.by_name(), [](const auto& one) {
           return in_flight(*one.second);
         });
}

bool SequenceTable::leave_clean() {
  static_cast<void>(append_issues());
  const bool recorded = scopes_.leave_clean();
  if (recorded) context_.log.make_durable();
  return recorded;
}

}  // namespace seqd

// The part of sequence_table.h that makes sequences: for a name, or the present period of a name,
// where there is room for another one; and that keeps what the log has of the name in step.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/core/names/forgotten_periods.h"
#include "daemon/core/names/id_form.h"
#include "daemon/core/names/kept_periods.h"
#include "daemon/core/settings/counter_identity.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

// How long before it begins a period may be advanced: a later one is taken for a typing error. The
// period behind the present one is never too far ahead.
constexpr std::int64_t kMostAheadS = 32 * 86'400;

Status changed_too_often(const DefineName& known) {
  return {ErrorCode::SEQ_CHANGED,
          "the format of \"" + known.name + "\" was changed " + std::to_string(known.forms.size()) +
              " times, and further changes cannot be distinguished: configure a former one, or "
              "give the sequence another name"};
}

}  // namespace

Result<SequenceId> SequenceTable::open(std::string_view name, std::optional<UserId> user) {
  if (const Sequence* const found = sequences_.find(name)) return found->id();
  const SequenceId now = names_.periods().sequence_at(name, now_s());
  // It may have been forgotten while the clock was ahead.
  if (now != 0 && sequences_.contains(now)) return now;
  if (const Status& refused = refusals_.any(); !refused.ok()) return refused;
  const std::string text(name);
  const SequenceSettings* settings = settings_.find(text);
  if (settings == nullptr) {
    return Status(ErrorCode::NO_SEQUENCE,
                  "\"" + text +
                      "\" is not configured, and the configuration does not allow creating it "
                      "(daemon.allow_unlisted); add [sequence.\"" +
                      text + "\"]");
  }
  if (settings->mode != SequenceMode::lease) return leases_nothing(name, settings->mode);
  // That calls open() again, with the name of the present period.
  if (settings->periods.rule != nullptr && !settings->periods.current)
    return open_period(text, *settings, user);
  return make(text, *settings, user);
}

Result<SequenceId> SequenceTable::make(const std::string& name, const SequenceSettings& settings,
                                       std::optional<UserId> user) {
  if (next_sequence_ > kLastSequence) {
    return Status(ErrorCode::EXHAUSTED,
                  "this state directory has no number left for another sequence");
  }
  if (scopes_.store(settings.store) == nullptr) {
    return Status(ErrorCode::CONFIG, "\"" + name + "\" names the store \"" + settings.store +
                                         "\", which is not running; restart the daemon to use it");
  }
  const StoreScope& scope = scopes_.of_store(settings.store);
  if (scope.refuses()) return scope.last_error();
  DefineSequence definition;
  definition.sequence = next_sequence_;
  definition.scope = scope.id();
  definition.name = name;
  definition.binding = binding_text(settings.binding, settings.progression);
  if (Status full = check_room(definition, settings.named, user); !full.ok()) return full;
  const DefineName& known = record_for(base_of(name));
  // A period that was forgotten was used here: its counter is there and stands behind its IDs.
  if (const std::optional<Period>& period = settings.periods.current)
    definition.high_water = high_water_of_forgotten(known.forgotten, *period);
  context_.log.append(definition);
  names_.note_begun(known.name, settings.periods, now_s());
  const Sequence& made = add(definition, settings);
  budgets_.defined(definition);
  if (user && !settings.named) accounts_.made(made, *user);
  names_.settle(name);
  return definition.sequence;
}

// Every connected user can make names that are in no table, and they stay.
Status SequenceTable::check_room(const DefineSequence& definition, bool named,
                                 std::optional<UserId> user) const {
  const std::size_t most = named ? limits_.sequences : share_of_unnamed(limits_.sequences);
  const std::string kept =
      named ? "" : "; the last quarter is kept for sequences with a table of their own";
  const std::string count = std::to_string(sequences_.size());
  const char* limit = "limits.max_sequences";
  std::string why;
  if (sequences_.size() >= most) {
    why = "there are " + count + " sequences already (limits.max_sequences)" + kept;
  } else if (!budgets_.may_define(definition, named)) {
    limit = "daemon.state_log_size";
    why = "the log has no room for more than these " + count +
          " sequences (daemon.state_log_size)" + kept;
  } else if (!named && user) {
    const auto places = std::min(static_cast<std::int64_t>(most - sequences_.size()),
                                 budgets_.room_for(definition));
    if (!accounts_.may_make(*user, places))
      why = "this user began to use " + std::to_string(accounts_.made_by(*user)) +
            " names that are in no table, " + std::to_string(places) +
            " are left (limits.max_sequences, daemon.state_log_size), and one user may not have "
            "all of them";
  }
  if (why.empty()) return {};
  Event event{EventKind::limit_reached, "another sequence was refused: " + why, {{"LIMIT", limit}}};
  if (user) event.fields.emplace_back("CLIENT_UID", std::to_string(*user));
  context_.events.raise(event);
  return {ErrorCode::BUSY, why};
}

// --- periods

Result<SequenceId> SequenceTable::open_period(const std::string& base,
                                              const SequenceSettings& settings,
                                              std::optional<UserId> user) {
  ASSERT(settings.periods.rule != nullptr && !settings.periods.current);
  const PeriodRule& rule = *settings.periods.rule;
  const Period now = rule.at(now_s());
  const std::string name = period_sequence(base, now.name);
  SequenceId id = find(name);
  // Where this host has leased, the high-water mark knows a counter that was removed.
  if ((id == 0 || at(id).definition().high_water() == 0) && is_known(base)) {
    Status removed = check_kept(now, record_for(base), settings.periods);
    if (!removed.ok()) return removed;
  }
  if (id == 0) {
    const Result<SequenceId> opened = open(name, user);
    if (!opened.ok()) return opened;
    id = *opened;
  }
  ASSERT(sequences_.contains(id));
  if (is_known(base)) names_.note_begun(record_for(base).name, at(id).settings().periods, now_s());
  know_periods(base, settings);
  names_.periods().set(base, now, id);
  return id;
}

Result<SequenceId> SequenceTable::open_to_advance(std::string_view name) {
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  const PeriodRule* const rule = settings == nullptr ? nullptr : settings->periods.rule.get();
  if (rule == nullptr) return open(name);
  const Period now = rule->at(now_s());
  if (period_of(name).empty() || period_of(name) == now.name)
    return open(period_sequence(base, now.name));
  const std::optional<Period> period = rule->named(period_of(name));
  if (period && period->begin_s > std::max(now.end_s, now_s() + kMostAheadS)) {
    return Status(ErrorCode::BAD_REQUEST,
                  "the period " + period->name + " begins more than 32 days from now, which is " +
                      now.name + "; a period can be advanced from 32 days before it begins");
  }
  return open(name);
}

bool SequenceTable::is_of_now(SequenceId id) const {
  const std::optional<Period>& period = at(id).settings().periods.current;
  const std::int64_t now = now_s();
  return period && period->begin_s <= now && now < period->end_s;
}

// Not before the counter was raised: until then nothing else keeps one that was removed from being
// made again at its first ID.
void SequenceTable::confirm_clock(SequenceId id) {
  if (!sequences_.contains(id)) return;
  const Sequence& advanced = at(id);
  ASSERT(advanced.settings().periods.current);
  names_.set_back(record_for(base_of(advanced.name())).name,
                  advanced.settings().periods.current->begin_s);
}

void SequenceTable::know_periods(std::string_view name, const SequenceSettings& settings) {
  const bool has_rule = settings.periods.rule != nullptr;
  if (has_rule) names_.periods().set_rule(base_of(name), settings.periods.rule);
  // A period may be left of which the configuration knows nothing any more.
  if (has_rule || !period_of(name).empty()) ends_.begin();
}

Status SequenceTable::check_not_removed(SequenceId sequence) const {
  const Sequence& asked = at(sequence);
  ASSERT(asked.definition().high_water() == 0);
  return seqd::check_not_removed(asked.name(), asked.settings().periods,
                                 names_.find(base_of(asked.name())), now_s());
}

// --- what the log has of a name

// Whether it has a sequence: no other name may have an entry, see StateBounds::kNameBytes.
bool SequenceTable::is_known(std::string_view base) const {
  return names_.find(base) != nullptr || sequences_.find_any_period(base) != nullptr;
}

const DefineName& SequenceTable::record_for(std::string_view base) {
  return names_.record_for(base, sequences_.find(base) != nullptr);
}

void SequenceTable::record_purge(std::string_view base, std::function<void()> done) {
  ASSERT(is_known(base));
  context_.log.append(record_for(base));
  when_durable(0, std::move(done));
}

Result<std::optional<TextForm>> SequenceTable::admit_text(SequenceId id) {
  const Sequence& sequence = at(id);
  const SequenceSettings& settings = sequence.settings();
  if (settings.text.compiled == nullptr) return no_format(sequence.name(), settings);
  const DefineName& known = record_for(base_of(sequence.name()));
  const std::string form = form_of(settings);
  if (Status other = check_form(known, form); !other.ok()) return other;
  const auto recorded = std::find(known.forms.begin(), known.forms.end(), form);
  if (recorded == known.forms.end()) {
    // Without an ID there may never be a text.
    if (sequence.held().issuable() == 0) return std::optional<TextForm>();
    if (known.forms.size() >= DefineName::kMostForms) return changed_too_often(known);
    if (!budgets_.may_define_form(form)) {
      return Status(ErrorCode::BUSY, "the log has no room for another format of \"" + known.name +
                                         "\" (daemon.state_log_size)");
    }
    budgets_.form_defined(form);
    names_.add_form(known.name, form);
    return std::optional<TextForm>();
  }
  if (!names_.is_durable(known.name)) return std::optional<TextForm>();
  return std::optional(static_cast<TextForm>(recorded - known.forms.begin()));
}

}  // namespace seqd

#include "daemon/core/upkeep/purge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

Status no_such_sequence(const std::string& name) {
  return {ErrorCode::NO_SEQUENCE,
          "\"" + name + "\" is not configured; add [sequence.\"" + name + "\"]"};
}

Status check_periods(const std::string& name, const SequenceSettings& settings) {
  if (settings.mode != SequenceMode::lease) return leases_nothing(name, settings.mode);
  if (settings.periods.rule == nullptr) {
    return {ErrorCode::BAD_REQUEST,
            "\"" + name +
                "\" has no periods, so it has one counter, which is in use; only a sequence with "
                "the option period has old counters"};
  }
  if (settings.periods.retain_ms == 0) {
    return {ErrorCode::CONFIG, "the counters of \"" + name +
                                   "\" are kept for ever; set sequence.period_retention, for "
                                   "example \"400d\", on every host that uses them, and reload"};
  }
  return {};
}

// What can be seen of others' counters in the place of ours: those that the configuration names,
// and those of patterns and defaults that are held here.
class OtherUsers {
 public:
  OtherUsers(const std::string& base, const SequenceSettings& settings, bool by_key_alone,
             std::vector<NamedSequence> named, const SequenceTable& table)
      : base_(base), settings_(settings), by_key_alone_(by_key_alone), named_(std::move(named)) {
    std::erase_if(named_, [this](const NamedSequence& other) {
      return other.name == base_ || other.settings->store != settings_.store ||
             !is_near(*other.settings);
    });
    for (const Sequence* other : table.sequences().all()) {
      if (base_of(other->name()) != base_ && other->scope().store_name() == settings_.store &&
          is_near(other->settings()))
        held_.emplace(plain_key(settings_.binding.key_type, other->definition().key()),
                      other->name());
    }
  }

  // Why the counter of that key is not ours alone; empty: it is.
  std::string at(const std::string& key) const {
    for (const NamedSequence& other : named_) {
      const SequenceSettings& settings = *other.settings;
      if (settings.mode == SequenceMode::insert)
        return "\"" + other.name + "\" inserts its documents into this collection";
      const std::string& own = settings.binding.key.empty() ? other.name : settings.binding.key;
      const bool used = settings.periods.rule != nullptr
                            ? period_of_key(settings, other.name, key).has_value()
                            : plain_key(settings.binding.key_type, own) == key;
      if (used) return "it is a counter of \"" + other.name + "\", too";
    }
    const auto held = held_.find(key);
    return held == held_.end() ? "" : "it is the counter of \"" + held->second + "\", too";
  }

 private:
  bool is_near(const SequenceSettings& other) const {
    const CounterBinding& one = settings_.binding;
    if (other.mode == SequenceMode::insert) return one.collection == other.binding.collection;
    return one.key_type == other.binding.key_type &&
           (by_key_alone_ || (one.collection == other.binding.collection &&
                              one.key_field == other.binding.key_field));
  }

  const std::string& base_;
  const SequenceSettings& settings_;
  const bool by_key_alone_;
  std::vector<NamedSequence> named_;
  std::map<std::string, std::string> held_;  // names by keys
};

}  // namespace

Purge::Purge(const CoreContext& context, SequenceTable& table, const SettingsSource& settings,
             Stores stores, NamedSequences named)
    : context_(context),
      table_(table),
      settings_source_(settings),
      stores_(std::move(stores)),
      named_(std::move(named)) {}

Status Purge::begin(const PurgeOrder& order, Done done) {
  if (busy_)
    return {ErrorCode::BUSY, "a purge of \"" + order_.name + "\" is under way; try again shortly"};
  ASSERT(done != nullptr && !done_);
  order_ = order;
  if (Status status = prepare(); !status.ok()) return status;
  busy_ = true;
  done_ = std::move(done);
  report_ = PurgeReport();
  report_.progression = settings_.progression.compiled;
  removal_ = {settings_.binding, {}};
  chosen_.clear();
  store_->find_counters(
      {settings_.binding, key_form(settings_, order_.name), order_.after, kMostFound},
      alive_.guard([this](const Result<CounterPage>& page) { found(page); }));
  return {};
}

Status Purge::prepare() {
  if (!period_of(order_.name).empty() || order_.name.ends_with('@')) {
    return {ErrorCode::BAD_REQUEST,
            "purge takes the name of the whole sequence, \"" + std::string(base_of(order_.name)) +
                "\": sequence.period_retention determines which of its periods are removed"};
  }
  const SequenceSettings* const settings = settings_source_.find(order_.name);
  if (settings == nullptr) return no_such_sequence(order_.name);
  if (Status status = check_periods(order_.name, *settings); !status.ok()) return status;
  const auto store = stores_.find(settings->store);
  if (store == stores_.end()) {
    return {ErrorCode::CONFIG, "\"" + order_.name + "\" names the store \"" + settings->store +
                                   "\", which is not running; restart the daemon to use it"};
  }
  if (store->second == nullptr) {
    return {ErrorCode::CONFIG,
            "the store \"" + settings->store +
                "\" is of type dynamodb, where old counters are found only by reading the whole "
                "table; remove them with a job of your own"};
  }
  store_ = store->second;
  settings_ = *settings;
  if (!order_.remove) return {};
  // From here on this host knows how late it is, and begins no period again that is older.
  const Result<SequenceId> present = table_.open(order_.name);
  return present.ok() ? Status() : present.status();
}

void Purge::found(const Result<CounterPage>& page) {
  ASSERT(busy_ && chosen_.empty());
  if (!page.ok()) return finish(page.status());
  report_.after = page->after;
  report_.more = page->more;
  const OtherUsers others(order_.name, settings_, page->by_key_alone, named_(), table_);
  const std::int64_t here_s = context_.clock.wall_ms() / 1'000;
  for (const FoundCounter& counter : page->counters) {
    const std::optional<Period> period = period_of_key(settings_, order_.name, counter.key);
    if (!period) continue;
    const bool old_here = may_be_removed(settings_.periods, *period, here_s);
    const bool old_there =
        may_be_removed(settings_.periods, *period, page->clock_s.value_or(here_s));
    if (!old_here && !old_there) continue;
    std::string why =
        old_here && old_there ? use_here(*period) : clock_reason(*period, page->clock_s, here_s);
    if (why.empty()) why = others.at(counter.key);
    if (why.empty()) why = counter.problem;
    if (why.empty()) {
      chosen_.push_back(report_.counters.size());
      removal_.counters.push_back(counter);
    }
    report_.counters.push_back({*period, counter.key, counter.last, false, std::move(why)});
    if (!order_.remove || chosen_.size() < kMostRemoved) continue;
    report_.more = report_.more || counter.key != page->counters.back().key;
    report_.after = counter.key;
    break;
  }
  if (!order_.remove || chosen_.empty()) return finish(report_);
  table_.record_purge(order_.name, alive_.guard([this] { remove(); }));
}

std::string Purge::clock_reason(const Period& period, std::optional<std::int64_t> there_s,
                                std::int64_t here_s) const {
  ASSERT(settings_.periods.rule != nullptr);
  const PeriodRule& rule = *settings_.periods.rule;
  return "the clocks differ: here it is " + rule.at(here_s).name + ", for the store's server " +
         rule.at(there_s.value_or(here_s)).name + ", and " + period.name +
         " is old by one of them only";
}

std::string Purge::use_here(const Period& period) const {
  const std::string name = period_sequence(order_.name, period.name);
  const SequenceId id = table_.find(name);
  if (id == 0) return {};
  const Sequence& sequence = table_.at(id);
  if (holds_nothing(sequence) && !in_flight(sequence) && sequence.waiters().size() == 0) return {};
  return "in use here: IDs are available, being leased or being returned (seqctl drain " + name +
         ")";
}

bool Purge::is_as_it_began() const {
  const SequenceSettings* const now = settings_source_.find(order_.name);
  return now != nullptr && now->mode == settings_.mode && now->store == settings_.store &&
         now->binding == settings_.binding && now->periods == settings_.periods;
}

void Purge::remove() {
  ASSERT(busy_ && order_.remove && !chosen_.empty());
  if (!is_as_it_began()) {
    return finish(Status(ErrorCode::BUSY,
                         "a reload changed \"" + order_.name +
                             "\" while the purge was under way, so nothing was removed; purge "
                             "again"));
  }
  ASSERT(removal_.counters.size() == chosen_.size());
  store_->remove_counters(
      removal_,
      alive_.guard([this](const std::vector<RemovalOutcome>& outcomes) { removed(outcomes); }));
}

void Purge::removed(const std::vector<RemovalOutcome>& outcomes) {
  using Kind = RemovalOutcome::Kind;
  ASSERT(!outcomes.empty() && outcomes.size() <= chosen_.size());
  if (outcomes.front().kind == Kind::failed) return finish(outcomes.front().error);
  // The page ends before one that failed: asking on shows whether it still does.
  const std::size_t tried = outcomes.size() - (outcomes.back().kind == Kind::failed ? 1 : 0);
  for (std::size_t at = 0; at < tried; ++at) {
    ASSERT(chosen_[at] < report_.counters.size());
    PurgeReport::Counter& counter = report_.counters[chosen_[at]];
    counter.removed = outcomes[at].kind == Kind::removed;
    if (!counter.removed) counter.why = "it changed during the purge, so it is in use";
  }
  ASSERT(tried >= 1);
  if (tried < chosen_.size()) {
    report_.counters.resize(chosen_[tried - 1] + 1);
    report_.after = report_.counters.back().key;
    report_.more = true;
  }
  raise_removed();
  finish(report_);
}

void Purge::raise_removed() const {
  std::int64_t count = 0;
  const Period* first = nullptr;
  const Period* last = nullptr;
  for (const PurgeReport::Counter& counter : report_.counters) {
    if (!counter.removed) continue;
    ++count;
    if (first == nullptr || counter.period.begin_s < first->begin_s) first = &counter.period;
    if (last == nullptr || counter.period.begin_s > last->begin_s) last = &counter.period;
  }
  if (count == 0) return;
  ASSERT(first != nullptr && last != nullptr && first->begin_s <= last->begin_s);
  context_.events.raise(
      {EventKind::counters_removed,
       std::to_string(count) + (count == 1 ? " counter of \"" : " counters of \"") + order_.name +
           "\" removed from store \"" + settings_.store + "\": " + first->name + " .. " +
           last->name + "; requested by user " + std::to_string(order_.user) + ", process " +
           std::to_string(order_.process),
       {{"SEQUENCE", order_.name},
        {"STORE", settings_.store},
        {"COUNT", std::to_string(count)},
        {"FIRST_PERIOD", first->name},
        {"LAST_PERIOD", last->name},
        {"CLIENT_UID", std::to_string(order_.user)},
        {"CLIENT_PID", std::to_string(order_.process)}}});
}

void Purge::finish(const Result<PurgeReport>& report) {
  ASSERT(busy_ && done_);
  busy_ = false;
  const Done done = std::exchange(done_, nullptr);
  done(report);
}

}  // namespace seqd

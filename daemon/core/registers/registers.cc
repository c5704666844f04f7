#include "daemon/core/registers/registers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/text/id_format.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {
namespace {

// Each has a page in memory for a while.
constexpr std::size_t kMostListings = 64;
constexpr std::ptrdiff_t kMostListingsOfUser = 16;
constexpr std::int64_t kLookAgainMs = 50;

Status no_register(const std::string& name, const SequenceSettings* settings) {
  return {settings == nullptr ? ErrorCode::NO_SEQUENCE : ErrorCode::WRONG_MODE,
          "\"" + name + "\" is no register; configure [sequence.\"" + name +
              "\"] with mode = \"register\", or take its IDs with next"};
}

}  // namespace

Registers::Registers(const CoreContext& context, const SettingsSource& settings,
                     SequenceTable& table, Stores stores, std::string host)
    : context_(context),
      settings_(settings),
      table_(table),
      stores_(std::move(stores)),
      host_(std::move(host)) {}

// --- requests

// A confirm or a cancel finds the number of its key in any period.
Status Registers::ask(std::string_view name, Wanted wanted) {
  const Result<Held*> held = open(name);
  if (!held.ok()) return held.status();
  if (wanted.kind == Wanted::Kind::assign || wanted.kind == Wanted::Kind::close)
    return (*held)->queue->add(std::move(wanted));
  Wanted again = wanted;
  wanted.done = [this, again, base = (*held)->base](Result<RegisterAnswer> answer) mutable {
    if (!answer.ok() || answer->kind != RegisterAnswer::Kind::elsewhere)
      return again.done(std::move(answer));
    again.number = answer->record.number;
    const Result<Held*> there = open(period_sequence(base, answer->record.period));
    const auto done = again.done;
    const Status status =
        there.ok() ? (*there)->queue->add(std::move(again)) : Status(there.status());
    if (!status.ok()) done(status);
  };
  return (*held)->queue->add(std::move(wanted));
}

Status Registers::list(std::string_view name, const Page& page, const Asker& asker, Paged done) {
  const Result<Held*> held = open(name);
  if (!held.ok()) return held.status();
  if (Status why = stopped(**held); !why.ok()) return why;
  const auto of_user = std::ranges::count(
      listings_, asker.user, [](const std::unique_ptr<Listing>& one) { return one->asker.user; });
  if (listings_.size() >= kMostListings || of_user >= kMostListingsOfUser)
    return {ErrorCode::BUSY, "other requests for pages of registers wait; try again shortly"};
  auto listing = std::make_unique<Listing>(context_.timers);
  listing->name = name;
  listing->page = page;
  listing->asker = asker;
  listing->done = std::move(done);
  listing->deadline_ms = context_.clock.monotonic_ms() + (*settings_of(**held))->wait_timeout_ms;
  listings_.push_back(std::move(listing));
  look(std::prev(listings_.end()));
  return {};
}

// Until its store is proven, it is tried again. The caller may be gone.
void Registers::look(Listings::iterator at) {
  Listing& listing = **at;
  const Result<Held*> held = open(listing.name);
  Result<RegisterPlace> place =
      held.ok() ? place_of(**held, false) : Result<RegisterPlace>(held.status());
  const bool waits = !place.ok() && place.status().code() == ErrorCode::UNAVAILABLE &&
                     context_.clock.monotonic_ms() < listing.deadline_ms;
  if (waits) return listing.timer.start(kLookAgainMs, [this, at] { look(at); });
  auto answer = [this, at](Result<std::vector<NumberRecord>> found) {
    const Paged done = std::move((*at)->done);
    listings_.erase(at);
    done(std::move(found));
  };
  if (!place.ok()) return listing.timer.start(0, [answer, why = place.status()] { answer(why); });
  stores_.at((*held)->store)
      ->list_register(
          {std::move(*place), listing.page.after, listing.page.state, listing.page.limit},
          alive_.guard(
              [answer](const Result<std::vector<NumberRecord>>& found) { answer(found); }));
}

Status Registers::raise(std::string_view name, Wanted wanted) {
  const Result<Held*> opened = open(name);
  if (!opened.ok()) return opened.status();
  Held& held = **opened;
  const StoreScope& scope = scope_of(held);
  if (!scope.verified() && !scope.restored()) {
    if (scope.refuses()) return scope.last_error();
    return {ErrorCode::UNAVAILABLE,
            "the store \"" + held.store + "\" was not compared with the log yet; try again"};
  }
  if (held.raising == nullptr) held.raising = make_queue(held.queue->name(), held, true);
  wanted.kind = Wanted::Kind::raise;
  wanted.number = table_.registers().reached(key_of(held), held.period_name());
  wanted.done = [this, &held, done = std::move(wanted.done)](const Result<RegisterAnswer>& answer) {
    if (answer.ok() && answer->kind == RegisterAnswer::Kind::done) {
      held.regressed = {};
      // Less, where the register begins with a higher number now.
      table_.registers().set(key_of(held), held.period_name(), answer->record.number);
    }
    done(answer);
  };
  return held.raising->add(std::move(wanted));
}

// --- which period it is

Result<Registers::Held*> Registers::open(std::string_view name) {
  if (const auto found = held_.find(name); found != held_.end()) return &found->second;
  if (!ending_.ok()) return ending_;
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  if (settings == nullptr || settings->mode != SequenceMode::registers)
    return no_register(base, settings);
  const std::int64_t now_s = context_.clock.wall_ms() / 1'000;
  const PeriodRule* const rule = settings->periods.rule.get();
  if (rule == nullptr) {
    if (name != base) {
      return Status(ErrorCode::BAD_REQUEST, "the register \"" + base + "\" has no periods");
    }
    return make(base, base, *settings, {});
  }
  std::optional<Period> period = rule->at(now_s);
  if (name != base) period = rule->named(period_of(name));
  if (!period || period->begin_s > now_s) {
    return Status(ErrorCode::BAD_REQUEST, "\"" + std::string(name) +
                                              "\" names no period that has begun; the present one "
                                              "is \"" +
                                              period_sequence(base, rule->at(now_s).name) + "\"");
  }
  const std::string whole = period_sequence(base, period->name);
  if (const auto found = held_.find(whole); found != held_.end()) return &found->second;
  return make(whole, base, *settings, std::move(period));
}

Result<Registers::Held*> Registers::make(const std::string& name, const std::string& base,
                                         const SequenceSettings& settings,
                                         std::optional<Period> period) {
  if (!stores_.contains(settings.store) || table_.scopes().store(settings.store) == nullptr) {
    return Status(ErrorCode::CONFIG, "\"" + base + "\" names the store \"" + settings.store +
                                         "\", which is not running or keeps no registers");
  }
  Held made;
  made.base = base;
  made.period = std::move(period);
  made.store = settings.store;
  const KnownRegisters::Key key = key_of(made);
  if (!table_.registers().contains(key) && !counted_.contains(key)) {
    if (!table_.budgets().may_define_register(key.second)) {
      return Status(ErrorCode::BUSY,
                    "the log has no room for another register (daemon.state_log_size)");
    }
    table_.budgets().register_defined(key.second);
    counted_.insert(key);
  }
  if (table_.find(base) != 0 || table_.sequences().find_any_period(base) != nullptr) {
    return Status(ErrorCode::WRONG_MODE,
                  "\"" + base +
                      "\" has leased ranges and issues IDs: take them with next, or "
                      "give the register another name");
  }
  // Not now: a caller of one of them may be answered.
  sweep_timer_.start(0, [this] { drop_idle(); });
  Held& held = held_.emplace(name, std::move(made)).first->second;
  held.queue = make_queue(name, held, false);
  return &held;
}

// Of a register with periods, those before the present one are rarely asked for again.
void Registers::drop_idle() {
  const std::int64_t now_s = context_.clock.wall_ms() / 1'000;
  std::erase_if(held_, [now_s](const auto& one) {
    const Held& held = one.second;
    const auto waits = [](const std::unique_ptr<RegisterQueue>& queue) {
      return queue != nullptr && queue->waiting() > 0;
    };
    return held.period && held.period->end_s <= now_s && held.regressed.ok() &&
           !waits(held.queue) && !waits(held.raising);
  });
}

std::unique_ptr<RegisterQueue> Registers::make_queue(const std::string& name, Held& held,
                                                     bool raises) {
  RegisterQueue::Period period;
  if (!raises) period.stopped = [this, &held] { return stopped(held); };
  period.reached = [this, &held, raises](std::int64_t highest) {
    return raises ? Status() : reached(held, highest);
  };
  period.place = [this, &held, raises] { return place_of(held, raises); };
  period.may_refill = refill_of(held);
  // Those of former days stay free, and are the lowest.
  const auto settings = settings_of(held);
  period.refills_newest = settings.ok() && (*settings)->refill.when == Refill::day;
  period.text = [this, &held](std::int64_t number, std::int64_t wall_ms) {
    return text_of(held, number, wall_ms);
  };
  return std::make_unique<RegisterQueue>(context_, settings_, accounts_, name,
                                         *stores_.at(held.store), std::move(period));
}

// Null: no number goes to another key.
RegisterQueue::MayRefill Registers::refill_of(const Held& held) const {
  const auto settings = settings_of(held);
  if (!settings.ok() || (*settings)->refill.when == Refill::never) return nullptr;
  if ((*settings)->refill.when == Refill::always)
    return [](const NumberRecord&, std::int64_t) { return true; };
  return [day = (*settings)->refill.day](const NumberRecord& record, std::int64_t wall_ms) {
    return day != nullptr && day->at(record.assigned.at_ms / 1'000) == day->at(wall_ms / 1'000);
  };
}

// --- its store

Result<const SequenceSettings*> Registers::settings_of(const Held& held) const {
  const SequenceSettings* const settings = settings_.find(held.base);
  if (settings == nullptr || settings->mode != SequenceMode::registers)
    return no_register(held.base, settings);
  if (settings->store == held.store) return settings;
  return Status(ErrorCode::SEQ_CHANGED, "the register \"" + held.base + "\" is of the store \"" +
                                            held.store + "\" until a restart, and \"" +
                                            settings->store + "\" is configured");
}

StoreScope& Registers::scope_of(const Held& held) {
  return table_.scopes().of_store(held.store);
}

KnownRegisters::Key Registers::key_of(const Held& held) {
  return {scope_of(held).id(), held.base};
}

Status Registers::stopped(const Held& held) const {
  if (const auto settings = settings_of(held); !settings.ok()) return settings.status();
  const StoreScope* const scope = table_.scopes().find(held.store);
  if (scope != nullptr && scope->refuses()) return scope->last_error();
  return held.regressed;
}

Result<RegisterPlace> Registers::place_of(const Held& held, bool raises) {
  const auto settings = settings_of(held);
  if (!settings.ok()) return settings.status();
  const StoreScope& scope = scope_of(held);
  RegisterPlace place;
  place.binding = (*settings)->binding;
  place.binding.key = held.base;
  place.period = held.period_name();
  place.takes_older = raises;
  if (raises) return place;
  if (!scope.verified()) {
    return Status(ErrorCode::UNAVAILABLE,
                  "the store \"" + held.store + "\" was not compared with the log yet" +
                      (scope.last_error().ok() ? "" : ": " + scope.last_error().to_string()));
  }
  place.instance = scope.instance();
  place.heartbeat = scope.known_beat();
  return place;
}

Status Registers::reached(Held& held, std::int64_t highest) {
  const KnownRegisters::Key key = key_of(held);
  const std::string period = held.period_name();
  const std::int64_t known = table_.registers().reached(key, period);
  if (highest > known) table_.registers().note(key, period, highest);
  if (highest >= known) {
    held.regressed = {};
    return {};
  }
  const std::string& name = held.queue->name();
  const bool is_news = held.regressed.ok();
  held.regressed = {
      ErrorCode::SEQ_REGRESSED,
      "the register \"" + name + "\" had " + std::to_string(known) + " numbers, and the store \"" +
          held.store + "\" has " + std::to_string(highest) +
          ": it is an older copy, or another database. If it is the wrong one, name the right one "
          "and restart; else make the numbers that it has lost void: seqctl advance " +
          name + " --yes"};
  if (is_news)
    context_.events.raise({EventKind::sequence_stopped,
                           held.regressed.text(),
                           {{"SEQUENCE", name}, {"STORE", held.store}}});
  return held.regressed;
}

// A number of a period that is over has its last second, so that the date is of that period.
std::string Registers::text_of(const Held& held, std::int64_t number, std::int64_t wall_ms) const {
  const auto settings = settings_of(held);
  std::int64_t wall_s = wall_ms / 1'000;
  if (held.period) wall_s = std::clamp(wall_s, held.period->begin_s, held.period->end_s - 1);
  const IdFormat* const format = settings.ok() ? (*settings)->text.compiled.get() : nullptr;
  return format == nullptr ? std::to_string(number) : format->write(held.base, number, wall_s);
}

}  // namespace seqd

#include "tests/unit/world.h"

#include <utility>

#include "daemon/core/text/id_format.h"

namespace seqd {

const SequenceSettings* ConfiguredSequences::find(const std::string& name) const {
  const auto found = by_name.find(std::string(base_of(name)));
  if (found == by_name.end()) return nullptr;
  if (period_of(name).empty()) return &found->second;
  if (found->second.periods.rule == nullptr) return nullptr;
  const auto period = found->second.periods.rule->named(period_of(name));
  if (!period) return nullptr;
  SequenceSettings& settings = periods_[name] = found->second;
  const std::string& key = found->second.binding.key;
  const bool named = key.find(kPeriodPlaceholder) == std::string::npos;
  settings.binding.key = period_key(named ? "" : key, found->first, *period);
  settings.periods.current = period;
  return &settings;
}

std::shared_ptr<const IdFormat> ConfiguredSequences::find_format(std::string_view name) const {
  const SequenceSettings* settings = find(std::string(name));
  return settings == nullptr ? nullptr : settings->text.compiled;
}

const AccessSettings* ConfiguredSequences::find_access(std::string_view name) const {
  const SequenceSettings* settings = find(std::string(name));
  return settings == nullptr ? nullptr : &settings->access;
}

SequenceSettings& ConfiguredSequences::add(const std::string& name) {
  SequenceSettings& settings = by_name[name];
  settings.binding.key = name;
  // Said here, so that the tests do not move with the defaults.
  settings.lease_min = 10;
  settings.lease_max = 100'000;
  settings.lease_duration_ms = 10'000;
  settings.max_available = 200'000;
  settings.max_unsynced = 10'000;
  if (settings.text.compiled == nullptr) {
    settings.text.compiled =
        std::make_shared<IdFormat>(read_template("{number}").value(), nullptr, nullptr);
  }
  return settings;
}

void CoreWorld::start() {
  ASSERT(table == nullptr);
  log.begin_process();
  pages.begin_process();
  table = std::make_unique<SequenceTable>(
      CoreContext{time, time, random, log, events, *replies, history}, settings, stores, limits,
      &pages);
  table->restore(log.image);
}

void CoreWorld::kill() {
  const bool alive = table != nullptr;
  table.reset();
  // Whoever scheduled something has cancelled it.
  ASSERT(!alive || time.pending() == 0);
  log.kill();
  store.drop_pending();
  answers.staged.clear();
}

void CoreWorld::turn() {
  table->end_turn();
  const Status committed = log.commit();
  unchecked_ = false;
  if (!committed.ok()) return;
  table->blocks().publish();
  for (Answer& answer : std::exchange(answers.staged, {}))
    answers.sent.push_back(std::move(answer));
  unchecked_ = ++turns_ % (1 + table->sequences().size() / kChecked) != 0;
  if (!unchecked_) check();
}

void CoreWorld::settle() {
  for (int quiet = 0; quiet < 2;) {
    turn();
    ++quiet;
    if (log.flush_due()) {
      flush();
      quiet = 0;
    }
    if (store.deliver()) quiet = 0;
  }
  if (std::exchange(unchecked_, false)) check();
}

void CoreWorld::advance(std::int64_t ms) {
  time.advance(ms);
  turn();
}

std::map<std::uint32_t, std::vector<Issued>> by_request(const ClientImage& client) {
  std::map<std::uint32_t, std::vector<Issued>> out;
  for (const Issued& issue : client.retained) {
    if (issue.kind == IssueKind::batch) {
      if (issue.request >= client.acknowledged_below) out[issue.request].push_back(issue);
      continue;
    }
    for (std::int64_t id = issue.begin; id < issue.end; ++id) {
      const auto request = issue.request + static_cast<std::uint32_t>(id - issue.begin);
      if (request < client.acknowledged_below) continue;
      out[request].push_back({issue.sequence, id, id + 1, issue.client, request, issue.kind,
                              issue.form, issue.wall_s});
    }
  }
  return out;
}

void CoreWorld::check() const {
  if (!log.turn_is_empty()) return;
  StateImage made;
  table->snapshot([&made](const LogEntry& entry) { ASSERT(made.apply(entry).ok()); });
  ASSERT(made.scopes == log.image.scopes);
  ASSERT(made.databases == log.image.databases);
  ASSERT(made.heartbeats == log.image.heartbeats);
  ASSERT(made.sequences == log.image.sequences);
  ASSERT(made.names == log.image.names);
  ASSERT(made.next_numbers == log.image.next_numbers);
  ASSERT(made.clients == log.image.clients);
  for (const Sequence* sequence : table->sequences().all()) {
    const SequenceTotals& totals = sequence->totals();
    ASSERT(totals.leased == totals.issued + sequence->available() + sequence->out() +
                                sequence->slot().returning() + totals.returned + totals.gaps);
    ASSERT(sequence->definition().high_water() ==
           log.image.sequences.at(sequence->id()).definition.high_water);
    ASSERT(sequence->available() == StateImage::available(log.image.sequences.at(sequence->id())));
    ASSERT(sequence->out() == StateImage::out(log.image.sequences.at(sequence->id())));
  }
}

std::optional<std::int64_t> CoreWorld::next(const std::string& name, const Caller& caller,
                                            std::int64_t timeout_ms) {
  const Result<SequenceId> id = table->open(name);
  status = id.status();
  if (!id.ok()) return std::nullopt;
  std::int64_t issued = 0;
  if (table->at(*id).issue_one(caller, &issued)) return issued;
  status = table->at(*id).wait(caller, IssueKind::single, 1, timeout_ms);
  return std::nullopt;
}

std::optional<std::vector<Run>> CoreWorld::range(const std::string& name, std::int64_t count,
                                                 const Caller& caller, std::int64_t timeout_ms) {
  const Result<SequenceId> id = table->open(name);
  status = id.status();
  if (!id.ok()) return std::nullopt;
  std::vector<Run> runs;
  if (table->at(*id).issue_many(caller, count, &runs)) return runs;
  status = table->at(*id).wait(caller, IssueKind::batch, count, timeout_ms);
  return std::nullopt;
}

}  // namespace seqd

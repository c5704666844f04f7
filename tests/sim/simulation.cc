#include "tests/sim/simulation.h"

#include <algorithm>
#include <string>

#include "tests/sim/configuration/text_forms.h"

namespace seqd::sim {
namespace {

// How long it may take, at most, until nothing moves any more.
constexpr std::int64_t kRestMs = 600'000;

// An hour east of Greenwich, and every other week another hour.
class RestlessZone final : public TimeZone {
 public:
  UtcOffset offset_at(std::int64_t utc_s) const override {
    constexpr std::int64_t kWeekS = 7 * 86'400;
    const std::int64_t week = utc_s / kWeekS;
    return {week * kWeekS, (week + 1) * kWeekS, week % 2 == 0 ? 3'600 : 7'200};
  }
};

}  // namespace

Simulation::Simulation(std::uint64_t seed, const Printed& printed)
    : stage_(seed, printed),
      trouble_(stage_, machines_, sites_, databases_,
               [this](Machine& machine, const std::string& path) -> Site& {
                 Site& site = add_site(machine, path);
                 add_client(site, true);
                 add_client(site, false);
                 return site;
               }) {
  configure();
  for (std::int64_t at = 1; at <= stage_.profile.machines; ++at) {
    machines_.push_back(std::make_unique<Machine>(stage_, static_cast<std::uint8_t>(at)));
    Site& site = add_site(*machines_.back(), "state");
    for (std::int64_t one = 0; one < stage_.profile.identified_clients; ++one) {
      add_client(site, true);
    }
    for (std::int64_t one = 0; one <= stage_.profile.anonymous_clients; ++one) {
      add_client(site, false);
    }
    if (stage_.profile.blocks && stage_.profile.thieves) add_thief(site);
    site.start_soon();
  }
  trouble_.begin();
}

// Daemons tell their clients of their end.
Simulation::~Simulation() {
  for (const auto& site : sites_) site->retire();
}

void Simulation::configure() {
  const Profile& profile = stage_.profile;
  const std::size_t sequences = Site::kSequences + (profile.period.empty() ? 0 : 1);
  for (std::size_t at = 0; at < sequences; ++at) {
    SequenceSettings& settings = settings_.add(Site::kSequenceNames[at]);
    settings.store = database_of(Site::kSequenceNames[at]).name();
    settings.lease_min = 5;
    settings.lease_max = stage_.profile.lease_max;
    settings.lease_duration_ms = 2'000;
    settings.max_available = profile.max_available();
    settings.max_unsynced = stage_.profile.max_unsynced;
    settings.max_waiters = SiteSettings::kMaxWaiters;
    settings.reuse = stage_.profile.reuse;
    settings.blocks = stage_.profile.blocks;
    settings.wait_timeout_ms = SiteSettings::kWaitTimeoutMs;
    TextForms::of(at == Site::kWithPeriods).set(0, settings);
  }
  settings_.by_name["gamma"].max_value = profile.bounded_end;
  for (const char* const name : {"alpha", "beta", "delta"}) draw_progression(name);
  if (profile.shared_counter) {
    settings_.by_name["delta"].binding.key = "beta";
    stage_.accounts.share("delta", "beta");
  }
  if (profile.period.empty()) return;
  SequenceSettings& settings = settings_.by_name[Site::kSequenceNames[Site::kWithPeriods]];
  settings.binding.key.clear();
  settings.periods.period = profile.period;
  settings.periods.rule =
      PeriodRule::make(profile.period, std::make_shared<RestlessZone>()).value();
  settings.periods.retain_ms = profile.retain_s * 1'000;
}

void Simulation::draw_progression(const std::string& name) {
  SeededRandom& random = stage_.random;
  SequenceSettings& settings = settings_.by_name.at(name);
  if (settings.blocks || random.below(2) == 0) return;
  IdProgression::Form form;
  form.max = 1'000'000;
  switch (random.below(4)) {
    case 0:
      form.increment = -random.between(1, 4);
      form.start = form.max;
      break;
    case 1:  // no text has such an ID
      form.increment = -1;
      form.start = form.max = -1;
      form.min = -1'000'000;
      break;
    case 2:
      form.cycle = true;
      form.max = random.between(50, 5'000);
      break;
    default:
      form.start = random.between(1, 50);
      form.increment = random.between(2, 7);
      break;
  }
  settings.progression = {form.start, form.increment, form.min, form.max, form.cycle, nullptr};
  settings.progression.compiled = std::make_shared<IdProgression>(form);
  if (settings.progression.compiled->lowest() < 1) settings.text.compiled = nullptr;
}

Database& Simulation::database_of(const std::string& name) {
  const auto* const end = std::end(Site::kSequenceNames);
  const auto* const found = std::find(std::begin(Site::kSequenceNames), end, base_of(name));
  // The one with periods is leased from either kind of store, each in other worlds.
  const bool odd = found == end - 1 ? stage_.profile.wall_speed % 2 == 1
                                    : (found - std::begin(Site::kSequenceNames)) % 2 == 1;
  return odd ? ledger_ : plain_;
}

Site& Simulation::add_site(Machine& machine, const std::string& state_path) {
  const auto number = static_cast<std::int64_t>(sites_.size()) + 1;
  sites_.push_back(
      std::make_unique<Site>(stage_, machine, settings_, databases_, state_path, number));
  // What lies there, if anything, is unknown.
  sites_.back()->forget();
  sites_.back()->on_kill([this](Site& site) { trouble_.killed(site); });
  return *sites_.back();
}

void Simulation::add_client(Site& site, bool identified) {
  const auto number = static_cast<std::int64_t>(clients_.size()) + 1;
  clients_.push_back(std::make_unique<Client>(stage_, site, number, identified));
  stage_.after(stage_.random.between(0, 50), [client = clients_.back().get()] { client->act(); });
}

void Simulation::add_thief(Site& site) {
  std::vector<const Client*> victims;
  for (const auto& client : clients_) {
    if (client->identity() && &client->site() == &site) victims.push_back(client.get());
  }
  thieves_.push_back(std::make_unique<Thief>(stage_, site, [this, victims] {
    const std::int64_t which = stage_.random.below(static_cast<std::int64_t>(victims.size()));
    return victims.at(static_cast<std::size_t>(which))->identity();
  }));
  stage_.after(stage_.random.between(0, 50), [thief = thieves_.back().get()] { thief->act(); });
}

void Simulation::run(std::uint64_t events) {
  while (stage_.history.events() < events) {
    if (!stage_.time.run_next()) stage_.history.violation("nothing moves any more");
  }
  come_to_rest();
}

void Simulation::run_for(std::int64_t ms) {
  const std::int64_t end_ms = stage_.time.monotonic_ms() + ms;
  while (stage_.time.monotonic_ms() < end_ms) stage_.time.run_next();
}

bool Simulation::at_rest() const {
  return std::none_of(clients_.begin(), clients_.end(),
                      [](const auto& client) { return client->waits(); }) &&
         std::all_of(sites_.begin(), sites_.end(),
                     [](const auto& site) { return site->retired() || site->settled(); });
}

std::string Simulation::unsettled() const {
  std::string out;
  for (std::size_t at = 0; at < clients_.size(); ++at) {
    if (clients_[at]->waits()) out += " client " + std::to_string(at + 1);
  }
  for (const auto& site : sites_) {
    if (site->retired() || site->settled()) continue;
    out += " daemon " + std::to_string(site->number()) + (site->running() ? "" : " (not running)");
  }
  return out;
}

// Nothing fails any more. Every daemon is stopped and started once, because one whose sequence was
// stopped goes on only then.
void Simulation::come_to_rest() {
  stage_.calm = true;
  trouble_.make_peace();
  run_for(10'000);
  for (const auto& site : sites_) site->stop();
  for (std::int64_t waited_ms = 0; !at_rest(); waited_ms += 1'000) {
    if (waited_ms > kRestMs) stage_.history.violation("it does not come to rest: " + unsettled());
    run_for(1'000);
  }
  // Whoever has something available has looked where the floors are.
  run_for(5 * stage_.profile.floor_check_ms);
  std::map<std::string, IntervalSet> available;
  for (const auto& site : sites_) {
    if (!site->retired()) site->mirror().add_available(available);
  }
  stage_.accounts.check(available);
  check_floors(available);
}

void Simulation::check_floors(const std::map<std::string, IntervalSet>& available) {
  for (const auto& [name, held] : available) {
    const std::int64_t floor = database_of(name).floor(name);
    if (!held.empty() && held.intervals().begin()->first < floor)
      stage_.history.violation("IDs of " + name + " below the floor are available");
  }
}

}  // namespace seqd::sim

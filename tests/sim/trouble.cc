#include "tests/sim/trouble.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace seqd::sim {
namespace {

constexpr std::int64_t kAnsweredMs = 40'000;  // what is asked now is answered then, or given up

}  // namespace

void TroubleMaker::begin() {
  stage_.after(stage_.random.between(1, 2 * stage_.profile.trouble_ms), [this] {
    if (stage_.calm) return;
    const auto& weights = stage_.profile.weights;
    const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    if (sum > 0) {
      std::int64_t at = stage_.random.below(sum);
      std::size_t which = 0;
      while (at >= weights[which]) at -= weights[which++];
      make(static_cast<Trouble>(which));
    }
    begin();
  });
}

void TroubleMaker::make_peace() {
  for (const auto& machine : machines_) machine->disk.faults = {};
  for (Database* database : databases_) {
    database->be_down(0);
    database->raise_all();
  }
  for (const auto& site : sites_) {
    site->name_databases(false);
    site->configure_right();
  }
}

void TroubleMaker::killed(Site& site) {
  if (may_cut_power() && !stage_.calm && stage_.random.below(3) == 0) cut_power(site.machine());
}

Site* TroubleMaker::any_site() {
  std::vector<Site*> candidates;
  for (const auto& site : sites_) {
    if (!site->retired() && !site->detached()) candidates.push_back(site.get());
  }
  return candidates[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(candidates.size())))];
}

const char* TroubleMaker::any_sequence() {
  const bool periods = !stage_.profile.period.empty();
  return Site::kSequenceNames[stage_.random.below(Site::kSequences + (periods ? 1 : 0))];
}

Machine& TroubleMaker::any_machine() {
  return *machines_[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(machines_.size())))];
}

Database& TroubleMaker::any_database() {
  return *databases_[static_cast<std::size_t>(
      stage_.random.below(static_cast<std::int64_t>(databases_.size())))];
}

// NOLINTNEXTLINE(readability-function-size): a table
void TroubleMaker::make(Trouble trouble) {
  SeededRandom& random = stage_.random;
  Site& site = *any_site();
  switch (trouble) {
    case Trouble::kill:
      return kill(site);
    case Trouble::kill_at_operation:
      return kill_at_operation(site);
    case Trouble::fail_operation:
      return fail_operation(site);
    case Trouble::fail_syncs:
      site.machine().disk.faults.fail_syncs_from = site.machine().disk.operations + 1;
      return;
    case Trouble::fill_disk:
      return fill_disk(site);
    case Trouble::cut_power:
      return cut_power(any_machine());
    case Trouble::stop:
      return site.stop();
    case Trouble::remove_witness:
      return remove_witness(any_machine());
    case Trouble::remove_pages:
      // A daemon that runs has them open.
      if (!site.running()) return;
      site.kill();
      stage_.happened(Kind::pages_removed, site.number());
      return site.pages().pages.clear();
    case Trouble::rot:
      return rot(site);
    case Trouble::fill_log:
      return fill_log(site);
    case Trouble::forget_pages:
      return forget_pages(site.machine());
    case Trouble::slow_disk:
      site.machine().slow_until_ms = stage_.time.monotonic_ms() + random.between(500, 5'000);
      return;
    case Trouble::clone:
      return clone(site);
    case Trouble::begin_copy:
      return begin_copy(site);
    case Trouble::restore:
      return restore(site);
    case Trouble::replace_running:
      return replace_running(site);
    case Trouble::lose_directory:
      return lose_directory(site);
    case Trouble::second_start:
      return site.start_second();
    case Trouble::outage:
      stage_.happened(Kind::outage, 0);
      return any_database().be_down(
          random.between(100, stage_.profile.period.empty() ? 15'000 : 150'000));
    case Trouble::fail_over:
      return any_database().begin_fail_over();
    case Trouble::foreign_write:
      return write_elsewhere();
    case Trouble::spoil_counter:
      return spoil_counter();
    case Trouble::spoil_type:
      return spoil_type();
    case Trouble::stall:
      stage_.happened(Kind::stalled, site.number());
      return site.stand_still(random.between(50, 4'000));
    case Trouble::jump_clock:
      return jump_clock(site.machine());
    case Trouble::drain:
      return site.drain(any_sequence());
    case Trouble::advance:
      return advance(site);
    case Trouble::let_days_pass:
      return let_days_pass();
    case Trouble::purge:
      return purge(site);
    case Trouble::reload:
      return site.reload();
    case Trouble::configure_otherwise:
      return configure_otherwise(site);
    case Trouble::decommission:
      return site.decommission();
    case Trouble::change_database:
      return change_database(site);
    case Trouble::put_back_database:
      return put_back_database();
  }
}

// Most notice that it is wrong, sooner or later.
void TroubleMaker::configure_otherwise(Site& site) {
  const std::int64_t how = stage_.random.below(3);
  site.configure_otherwise(how != 0);
  if (how == 1) return;
  end_somehow(site);
}

// --- stores
// --------------------------------------------------------------------------------------

// The configuration names other databases for one life or some, and then the former ones again.
void TroubleMaker::change_database(Site& site) {
  site.name_databases(true);
  end_somehow(site);
  stage_.after(stage_.random.between(500, 6'000), [this, &site] {
    if (stage_.calm) return;
    site.name_databases(false);
    end_somehow(site);
  });
}

void TroubleMaker::end_somehow(Site& site) {
  if (stage_.random.below(2) == 0) return site.stop();
  kill_now(site);
}

// Hosts that were there notice; one that cannot know leases only when the counters were raised,
// which is what the manual asks for. Or an operator sees that it was the wrong database, puts the
// right one in place, and restarts the daemons: then nothing is lost.
void TroubleMaker::put_back_database() {
  Database& database = any_database();
  if (database.is_put_back()) return;
  database.back_up();
  stage_.after(stage_.random.between(500, 15'000), [this, &database] {
    if (stage_.calm) return;
    database.put_back();
    stage_.after(stage_.random.between(500, 20'000), [this, &database] {
      if (stage_.calm || stage_.random.below(2) == 0 || !database.put_right())
        return database.raise_all();
      for (const auto& site : sites_) end_somehow(*site);
    });
  });
}

void TroubleMaker::write_elsewhere() {
  const std::string name = any_key();
  for (Database* database : databases_) {
    database->take_elsewhere(name, stage_.random.below(2) == 0 ? 1 : 10);
  }
}

void TroubleMaker::spoil_counter() {
  Database& database = any_database();
  const std::string name = any_key();
  if (stage_.random.below(3) == 0) {
    database.remove(name);
  } else {
    database.lower(name);
  }
  stage_.after(stage_.random.between(500, 20'000), [&database, name] { database.repair(name); });
}

// Whichever database its counter is in. Some time after the repair, when nothing of before is on
// its way any more, some of the daemons, or all, are advanced.
void TroubleMaker::spoil_type() {
  const char* const name = Site::kSequenceNames[stage_.random.below(Site::kSequences)];
  const std::string key = stage_.accounts.counter_of(name);
  for (Database* database : databases_) database->spoil_type(key);
  stage_.happened(Kind::type_spoilt, 0);
  stage_.after(stage_.random.between(500, 20'000), [this, name, key] {
    for (Database* database : databases_) database->repair_type(key);
    stage_.after(stage_.random.between(100, 2'000), [this, name] {
      if (stage_.calm) return;
      for (const auto& site : sites_) {
        if (stage_.random.below(2) == 0) site->advance(name);
      }
    });
  });
}

// Sometimes while another host is down, which has to learn of it.
void TroubleMaker::advance(Site& site) {
  const bool periods = !stage_.profile.period.empty();
  if (periods && stage_.random.below(4) == 0) return site.advance_ahead();
  Site& other = *any_site();
  if (&other != &site && stage_.random.below(2) == 0) {
    stage_.happened(Kind::advanced_while_down, other.number());
    other.stay_down(stage_.random.between(100, 2'000));
  }
  site.advance(any_sequence());
}

std::string TroubleMaker::any_key() {
  const std::string name = any_sequence();
  return name == Site::kSequenceNames[Site::kWithPeriods] ? any_site()->present_period() : name;
}

// --- clocks and periods
// --------------------------------------------------------------------------------------

bool TroubleMaker::clocks_stay() const {
  return stage_.time.monotonic_ms() < stage_.clocks_stay_until_ms;
}

void TroubleMaker::jump_clock(Machine& machine) {
  if (clocks_stay()) return;
  stage_.happened(Kind::clock_jumped, 0);
  const bool far =
      stage_.profile.clock_error_s > stage_.profile.retain_s && stage_.random.below(8) == 0;
  const std::int64_t most_ms = (far ? 60 * 86'400 : stage_.profile.clock_error_s) * 1'000LL;
  machine.set_clock(stage_.random.between(-most_ms, most_ms));
}

void TroubleMaker::let_days_pass() {
  if (clocks_stay()) return;
  stage_.happened(Kind::days_passed, 0);
  stage_.time.wall_set_ms += stage_.random.between(1, 40) * 86'400'000;
}

// What was asked for before a clock was set has its answer when the counters go. Where clocks lie,
// they go only when no other host can take a period that is over for a new one: it knows that it
// was later.
void TroubleMaker::purge(Site& site) {
  if (site.period_rule() == nullptr || clocks_stay()) return;
  // And while it lasts.
  stage_.clocks_stay_until_ms = stage_.time.monotonic_ms() + 2 * kAnsweredMs;
  if (stage_.random.below(2) == 0) site.machine().set_clock(0);
  stage_.after(kAnsweredMs, [this, &site] {
    if (site.retired()) return;
    const std::int64_t present_s = site.period_rule()->at(site.machine().wall_ms() / 1'000).begin_s;
    const bool known = std::all_of(sites_.begin(), sites_.end(), [&](const auto& one) {
      return one->retired() || one.get() == &site || one->has_begun(present_s);
    });
    if (known || !stage_.profile.clocks_lie()) site.purge();
  });
}

}  // namespace seqd::sim

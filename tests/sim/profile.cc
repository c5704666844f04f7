#include "tests/sim/profile.h"

namespace seqd::sim {
namespace {

// What is drawn apart, each once and with a number of its own: a new one leaves the worlds of
// before as they are.
enum class Draw : std::uint64_t {
  drains = 7,
  advances = 11,
  periods = 13,
  reloads = 17,
  ends = 19,
  databases = 23,
  restores = 29,
  shared_counter = 31,
  blocks = 37,
  configurations = 41,
  is_quiet = 47,
  quiet = 53,
};

SeededRandom draw(std::uint64_t seed, Draw what) {
  return SeededRandom(seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(what));
}

// Copies of a state directory.
constexpr auto kCopies = {Trouble::clone, Trouble::begin_copy, Trouble::restore,
                          Trouble::replace_running};

}  // namespace

Profile::Profile(std::uint64_t seed) {
  SeededRandom random(seed * 0x2545f4914f6cdd1d + 1);
  // With `resume` no copy of the directory may ever run: the manual says so.
  if (random.below(4) == 0) after_power_loss = AfterPowerLoss::resume;
  events = static_cast<std::uint64_t>(random.below(8) == 0 ? random.between(100'000, 250'000)
                                                           : random.between(5'000, 40'000));
  const bool copies = after_power_loss == AfterPowerLoss::forfeit;
  machines = random.between(1, 3);
  identified_clients = random.between(1, 5);
  anonymous_clients = random.between(0, 3);
  pause_ms = random.between(2, 40);
  // From a world in which hardly anything works to one in which daemons live long.
  trouble_ms = random.between(25, 40) << random.below(8);
  for (std::size_t at = 0; at < static_cast<std::size_t>(Trouble::drain); ++at) {
    weights[at] = random.below(5) < 2 ? 0 : random.between(1, 10);
  }
  const auto rarely = [this](Trouble trouble) { weight(trouble) = (weight(trouble) + 3) / 4; };
  for (const Trouble trouble :
       {Trouble::fill_disk, Trouble::rot, Trouble::lose_directory, Trouble::cut_power,
        Trouble::spoil_counter, Trouble::outage, Trouble::remove_witness, Trouble::fail_syncs}) {
    rarely(trouble);
  }
  if (!copies) forbid(kCopies);
  const auto rate = [&random](std::int64_t most) {
    return random.below(2) == 0 ? 0 : random.between(1, most);
  };
  lost_requests = rate(60'000);
  lost_replies = rate(120'000);
  late_requests = rate(120'000);
  applied_twice = rate(40'000);
  refusals = rate(100'000);
  denials = rate(30'000);
  lease_max = random.between(20, 2'000);
  max_unsynced = random.between(10, 500);
  bounded_end = random.between(500, 20'000);
  draw_operations(seed);
  if (draw(seed, Draw::is_quiet).below(12) == 0) be_quiet(seed);
  SeededRandom ends = draw(seed, Draw::ends);
  // Whoever leaves takes along how late it was.
  if (ends.below(3) > 0 || clocks_lie()) return;
  weight(Trouble::decommission) = ends.between(1, 20);
  // The mark of one daemon would lie in the directory of another.
  weight(Trouble::replace_running) = 0;
}

// What a daemon owes to two clients that are alone with it.
void Profile::be_quiet(std::uint64_t seed) {
  SeededRandom random = draw(seed, Draw::quiet);
  quiet = forms_change = true;
  blocks = false;
  for (std::int64_t& weight : weights) weight = 0;
  for (const Trouble trouble : {Trouble::kill, Trouble::stop, Trouble::slow_disk, Trouble::reload,
                                Trouble::configure_otherwise, Trouble::advance})
    weight(trouble) = random.between(0, 3);
  lost_requests = lost_replies = late_requests = applied_twice = refusals = denials = 0;
  reappearing = 0;
  machines = random.between(1, 2);
  identified_clients = random.between(0, 1);
  anonymous_clients = random.between(0, 1);
  pause_ms = random.between(100, 6'000);
  trouble_ms = random.between(1'000, 8'000);
  floor_check_ms = 60'000;
  events = static_cast<std::uint64_t>(random.between(1'000, 6'000));
}

void Profile::forbid(std::initializer_list<Trouble> troubles) {
  for (const Trouble trouble : troubles) weight(trouble) = 0;
}

void Profile::draw_operations(std::uint64_t seed) {
  SeededRandom drains = draw(seed, Draw::drains);
  const bool drained = drains.below(2) == 0;
  weight(Trouble::drain) = drained ? drains.between(5, 60) : 0;
  if (drained) reuse = static_cast<Reuse>(drains.below(3));
  SeededRandom advances = draw(seed, Draw::advances);
  weight(Trouble::advance) = advances.below(2) == 0 ? advances.between(1, 20) : 0;
  draw_periods(seed);
  SeededRandom reloads = draw(seed, Draw::reloads);
  weight(Trouble::reload) = reloads.below(2) == 0 ? reloads.between(1, 20) : 0;
  SeededRandom configurations = draw(seed, Draw::configurations);
  weight(Trouble::configure_otherwise) =
      configurations.below(2) == 0 ? configurations.between(1, 12) : 0;
  if (configurations.below(2) == 0) reappearing = configurations.between(1, 100'000);
  weight(Trouble::spoil_type) = configurations.below(3) == 0 ? configurations.between(1, 6) : 0;
  forms_change = configurations.below(2) == 0;
  textless = configurations.below(2) == 0;
  thieves = configurations.below(2) == 0;
  SeededRandom changes = draw(seed, Draw::databases);
  weight(Trouble::change_database) = changes.below(3) == 0 ? changes.between(1, 6) : 0;
  SeededRandom restores = draw(seed, Draw::restores);
  if (restores.below(3) == 0) {
    weight(Trouble::put_back_database) = restores.between(1, 6);
    // A copy of a directory beside a copy of the database that its claim is in: together they tell
    // nobody anything.
    forbid(kCopies);
  }
  SeededRandom blocked = draw(seed, Draw::blocks);
  blocks = blocked.below(3) == 0;
  weight(Trouble::remove_pages) = blocks ? blocked.between(0, 2) : 0;
  shared_counter = draw(seed, Draw::shared_counter).below(3) == 0;
}

void Profile::draw_periods(std::uint64_t seed) {
  SeededRandom random = draw(seed, Draw::periods);
  if (random.below(3) > 0) return;
  const bool hours = random.below(2) == 0;
  period = hours ? "hour" : "day";
  const std::int64_t period_s = hours ? 3'600 : 86'400;
  // One lasts for 2 to 20 seconds, and it takes a minute until one that is over is looked at: so
  // everything else is slower.
  wall_speed = period_s / random.between(2, 20);
  pause_ms = random.between(20, 400);
  trouble_ms *= 8;
  weight(Trouble::let_days_pass) = random.below(2) == 0 ? random.between(1, 5) : 0;
  weight(Trouble::purge) = random.between(1, 10);
  weight(Trouble::jump_clock) = random.between(0, 10);
  clock_error_s = 60 * period_s;
  // Longer than anything is on its way.
  constexpr std::int64_t kAnsweredS = 40;
  switch (random.below(5)) {
    case 0:
      return;  // counters are kept for ever
    case 1:
      clock_error_s = 2 * period_s;
      retain_s = clock_error_s + kAnsweredS * wall_speed;
      return;
    case 2:
      weight(Trouble::jump_clock) = weight(Trouble::let_days_pass) = 0;
      clock_error_s = 0;
      retain_s = kAnsweredS * wall_speed;
      return;
    default:
      retain_s = kAnsweredS * wall_speed;
      weight(Trouble::jump_clock) += 10;
      weight(Trouble::purge) += 5;
      break;
  }
  forbid(kCopies);
  forbid({Trouble::fail_syncs, Trouble::fill_disk, Trouble::cut_power, Trouble::rot,
          Trouble::forget_pages, Trouble::lose_directory});
}

}  // namespace seqd::sim

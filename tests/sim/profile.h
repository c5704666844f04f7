// Profile: what may happen in one simulation, and how often. Every seed draws its own: in one world
// the power fails all the time, in another the store, in a third nothing but clients. Constant.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "daemon/core/words/reuse.h"
#include "daemon/state/start_rules.h"
#include "tests/unit/seeded_random.h"

namespace seqd::sim {

// What the trouble maker does of its own accord.
enum class Trouble : std::uint8_t {
  kill,
  kill_at_operation,
  fail_operation,
  fail_syncs,
  fill_disk,
  cut_power,
  stop,
  remove_witness,
  rot,
  fill_log,
  forget_pages,
  slow_disk,
  clone,
  begin_copy,
  restore,
  replace_running,
  lose_directory,
  second_start,
  outage,
  fail_over,
  foreign_write,
  spoil_counter,
  spoil_type,
  stall,
  jump_clock,
  drain,
  advance,
  let_days_pass,
  purge,
  reload,
  configure_otherwise,
  decommission,
  change_database,
  put_back_database,
  remove_pages,  // a new one behind it: the weights before `drain` are drawn in this order
};
inline constexpr std::size_t kTroubles = static_cast<std::size_t>(Trouble::remove_pages) + 1;

struct Profile {
  explicit Profile(std::uint64_t seed);

  AfterPowerLoss after_power_loss = AfterPowerLoss::forfeit;
  std::uint64_t events = 25'000;  // before the world comes to rest
  std::int64_t machines = 2;
  std::int64_t identified_clients = 3;  // of each daemon
  std::int64_t anonymous_clients = 2;   // the same, and one more
  std::int64_t pause_ms = 40;           // of a client between two things it does
  std::int64_t trouble_ms = 40;
  std::int64_t floor_check_ms = 2'000;  // between two looks at the floors
  std::array<std::int64_t, kTroubles> weights{};
  std::int64_t& weight(Trouble trouble) { return weights[static_cast<std::size_t>(trouble)]; }
  std::int64_t weight(Trouble trouble) const { return weights[static_cast<std::size_t>(trouble)]; }

  // In a million calls of the store.
  std::int64_t lost_requests = 0;
  std::int64_t lost_replies = 0;
  std::int64_t late_requests = 0;
  std::int64_t applied_twice = 0;
  std::int64_t refusals = 0;
  std::int64_t denials = 0;
  std::int64_t reappearing = 0;  // grants that seem to be returned ranges

  std::int64_t lease_max = 400;  // this and what follows: at most, of every sequence
  std::int64_t max_available() const { return 2 * lease_max; }
  std::int64_t max_unsynced = 100;
  Reuse reuse = Reuse::never;    // of every sequence
  std::int64_t bounded_end = 0;  // highest ID of the sequence that has one
  bool blocks = false;           // every sequence has blocks
  bool thieves = false;          // of pages of blocks
  bool quiet = false;            // few ask, mostly for texts, and next to nothing goes wrong
  bool forms_change = false;     // of texts, by reloads
  bool textless = false;         // nobody asks for texts of "alpha"
  bool shared_counter = false;   // "delta" takes its IDs of the counter of "beta"

  // Of the sequence with periods, if there is one.
  std::string period;           // its unit; empty: there is none
  std::int64_t wall_speed = 1;  // seconds that the clocks on the wall show in a second
  std::int64_t retain_s = 0;
  std::int64_t clock_error_s = 86'400;  // of a machine's clock, at most
  // Floors of counters may be seen lower than they were.
  bool spoils_counters() const {
    return weight(Trouble::spoil_counter) > 0 || weight(Trouble::put_back_database) > 0;
  }
  // Nobody sets a clock, and nobody is suspended for days.
  bool clocks_run() const {
    return weight(Trouble::jump_clock) == 0 && weight(Trouble::let_days_pass) == 0;
  }
  // Clocks err by more than `period_retention`. No directory may be lost then, the manual says so:
  // what was in use already is written there.
  bool clocks_lie() const { return retain_s > 0 && clock_error_s > retain_s; }

 private:
  void forbid(std::initializer_list<Trouble> troubles);
  void draw_operations(std::uint64_t seed);
  void draw_periods(std::uint64_t seed);
  void be_quiet(std::uint64_t seed);
};

}  // namespace seqd::sim

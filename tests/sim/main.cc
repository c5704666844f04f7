// The simulator: `sim --seed N` runs one world, and `sim --events M` as many as it takes to make M
// events. The same seed makes the same events. `sim --digest` runs a number of worlds, and prints
// what their transcripts come to.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/simulation.h"

namespace seqd::sim {
namespace {

using Use = Transcript::Use;

// A run of this length makes everything happen that is in counts.def; the rarest kind (returns that
// never will be applied) had to be waited for longer than 5 million events.
constexpr std::uint64_t kEventsForAll = 20'000'000;

struct Arguments {
  std::optional<std::uint64_t> seed;  // one world; else many, from `from` on
  std::uint64_t from = 1;
  std::uint64_t events = 0;
  std::uint64_t worlds = 0;  // for the digest
  Printed printed;
};

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t events = 0;
  std::int64_t issued = 0;
  Counts counts;
};

// The world that runs, for whoever aborts the process.
const History* running = nullptr;

extern "C" void print_history(int) {
  if (running != nullptr) running->violation("the product has aborted");
}

std::optional<Arguments> read_arguments(int count, char** words) {
  Arguments arguments;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (word == "--verbose" || word == "--transcript") {
      arguments.printed.history = word == "--verbose";
      arguments.printed.transcript = word == "--transcript" ? Use::print : Use::none;
      continue;
    }
    if (at + 1 == count) return std::nullopt;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(words[++at], &end, 10);
    if (*end != '\0') return std::nullopt;
    if (word == "--seed") {
      arguments.seed = number;
    } else if (word == "--from") {
      arguments.from = number;
    } else if (word == "--events") {
      arguments.events = number;
    } else if (word == "--digest") {
      arguments.worlds = number;
    } else {
      return std::nullopt;
    }
  }
  if (!arguments.seed && arguments.worlds == 0 && arguments.events == 0) return std::nullopt;
  return arguments;
}

// `events` 0: as many as the world has of its own. Returns the digest of its transcript.
std::uint64_t run_world(std::uint64_t seed, std::uint64_t events, const Printed& printed,
                        Totals& totals) {
  Simulation simulation(seed, printed);
  running = &simulation.stage().history;
  simulation.run(events > 0 ? events : simulation.stage().profile.events);
  running = nullptr;
  ++totals.worlds;
  totals.events += simulation.stage().history.events();
  totals.issued += simulation.stage().accounts.issued();
  totals.counts.add(simulation.stage().counts);
  return simulation.stage().transcript.digest();
}

std::int64_t of_group(const Counts& counts, Group group) {
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < kKinds; ++at) {
    if (kKindInfo[at].group == group) sum += counts.of(static_cast<Kind>(at));
  }
  return sum;
}

void print_counts(const Totals& totals) {
  for (std::size_t at = 0; at < kKinds; ++at) {
    std::printf("%12lld  %s\n", static_cast<long long>(totals.counts.of(static_cast<Kind>(at))),
                kKindInfo[at].text.data());
  }
}

// False when something never happened.
bool everything_happened(const Totals& totals) {
  bool all = true;
  for (std::size_t at = 0; at < kKinds; ++at) {
    if (totals.counts.of(static_cast<Kind>(at)) > 0) continue;
    std::printf("sim: never happened: %s\n", kKindInfo[at].text.data());
    all = false;
  }
  return all;
}

void print_last_line(const Totals& totals) {
  const auto group = [&](Group of) { return static_cast<long long>(of_group(totals.counts, of)); };
  const auto kind = [&](Kind of) { return static_cast<long long>(totals.counts.of(of)); };
  const long long kills = kind(Kind::kill_between_turns) + kind(Kind::kill_before_record) +
                          kind(Kind::kill_before_replies) + kind(Kind::kill_before_operation) +
                          kind(Kind::kill_within_operation) + kind(Kind::kill_after_operation);
  std::printf(
      "sim: %llu events, %lld daemons' starts, %lld kills, %lld power cuts, %lld clones, "
      "%lld restores, %lld store faults, %lld IDs issued, 0 duplicates, 0 unaccounted\n",
      static_cast<unsigned long long>(totals.events), group(Group::start), kills,
      kind(Kind::power_cut), kind(Kind::clone_of_running) + kind(Kind::clone_of_stopped),
      kind(Kind::restored_in_place) + kind(Kind::restored_again) +
          kind(Kind::replaced_while_running),
      group(Group::store) - kind(Kind::lease_granted), static_cast<long long>(totals.issued));
}

// One line for all of these worlds.
int run_digest(const Arguments& arguments) {
  Totals totals;
  Transcript all(Use::digest);
  const std::uint64_t end = arguments.from + arguments.worlds;
  for (std::uint64_t seed = arguments.from; seed < end; ++seed) {
    all.finished(seed, run_world(seed, arguments.events, {false, Use::digest}, totals));
  }
  std::printf("worlds %llu to %llu: %016llx\n", static_cast<unsigned long long>(arguments.from),
              static_cast<unsigned long long>(end - 1),
              static_cast<unsigned long long>(all.digest()));
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.worlds > 0) return run_digest(arguments);
  Totals totals;
  if (arguments.seed) {
    run_world(*arguments.seed, arguments.events, arguments.printed, totals);
    if (arguments.printed.transcript == Use::print) return 0;
    print_counts(totals);
    print_last_line(totals);
    return 0;
  }
  std::printf("sim: worlds from seed %llu on\n", static_cast<unsigned long long>(arguments.from));
  std::fflush(stdout);
  for (std::uint64_t seed = arguments.from; totals.events < arguments.events; ++seed) {
    run_world(seed, 0, arguments.printed, totals);
  }
  print_counts(totals);
  const bool complete = arguments.events < kEventsForAll || everything_happened(totals);
  // Each world is a test.
  std::printf("%llu passed, %d failed\n", static_cast<unsigned long long>(totals.worlds),
              complete ? 0 : 1);
  print_last_line(totals);
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace seqd::sim

int main(int count, char** words) {
  const auto arguments = seqd::sim::read_arguments(count, words);
  if (!arguments) {
    std::fprintf(stderr,
                 "usage: sim --seed N [--events M] [--verbose | --transcript]   one world\n"
                 "       sim --events M [--from N]          worlds until there were M events\n"
                 "       sim --digest W [--from N] [--events M]   what W worlds come to, of M "
                 "events each\n");
    return 2;
  }
  std::signal(SIGABRT, seqd::sim::print_history);
  return seqd::sim::run(*arguments);
}

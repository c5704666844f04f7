// The rows of the two tables at the head of sequence_fate.h.
#include "daemon/core/table/sequence_fate.h"

#include <initializer_list>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Fate = SequenceFate;

Fate at_start(StopCause mismatch, bool may_move) {
  return find_fate({.at = FateFacts::At::start, .mismatch = mismatch, .may_move = may_move});
}

Fate at_reload(StopCause stopped_by, StopCause mismatch, bool as_it_runs,
               bool store_refuses = false) {
  return find_fate({.at = FateFacts::At::reload,
                    .mismatch = mismatch,
                    .stopped_by = stopped_by,
                    .as_it_runs = as_it_runs,
                    .store_refuses = store_refuses});
}

TEST_CASE("AtAStartASequenceGoesOnMovesOrStops", "[fate]") {
  for (const bool may_move : {false, true}) {
    CHECK(at_start(StopCause::none, may_move) == Fate::goes_on);
    CHECK(at_start(StopCause::unconfigured, may_move) == Fate::stops);
  }
  CHECK(at_start(StopCause::elsewhere, true) == Fate::moves);
  CHECK(at_start(StopCause::elsewhere, false) == Fate::stops);
}

TEST_CASE("AtAReloadASequenceThatWasNotConfiguredTakesWhatIsConfiguredNow", "[fate]") {
  for (const bool as_it_runs : {false, true}) {
    CHECK(at_reload(StopCause::unconfigured, StopCause::unconfigured, as_it_runs) ==
          Fate::stays_unconfigured);
    CHECK(at_reload(StopCause::unconfigured, StopCause::none, as_it_runs) == Fate::goes_on);
    CHECK(at_reload(StopCause::unconfigured, StopCause::elsewhere, as_it_runs) == Fate::stops);
  }
}

TEST_CASE("AtAReloadASequenceThatLosesItsConfigurationOrCounterWaitsForARestart", "[fate]") {
  for (const StopCause stopped_by : {StopCause::none, StopCause::elsewhere, StopCause::changed,
                                     StopCause::restored, StopCause::regressed}) {
    for (const bool refuses : {false, true}) {
      CHECK(at_reload(stopped_by, StopCause::unconfigured, false, refuses) == Fate::needs_restart);
      CHECK(at_reload(stopped_by, StopCause::none, false, refuses) == Fate::needs_restart);
      CHECK(at_reload(stopped_by, StopCause::elsewhere, false, refuses) == Fate::needs_restart);
    }
  }
}

TEST_CASE("AtAReloadASequenceTakesTheOptionsThatDoNotMoveIt", "[fate]") {
  for (const bool refuses : {false, true}) {
    for (const StopCause stopped_by :
         {StopCause::none, StopCause::restored, StopCause::regressed}) {
      CHECK(at_reload(stopped_by, StopCause::none, true, refuses) == Fate::goes_on);
      CHECK(at_reload(stopped_by, StopCause::elsewhere, true, refuses) == Fate::goes_on);
    }
    CHECK(at_reload(StopCause::changed, StopCause::none, true, refuses) == Fate::goes_on);
    CHECK(at_reload(StopCause::changed, StopCause::elsewhere, true, refuses) ==
          Fate::stays_stopped);
    CHECK(at_reload(StopCause::elsewhere, StopCause::elsewhere, true, refuses) ==
          Fate::stays_stopped);
  }
}

TEST_CASE("AtAReloadASequenceWhoseFormerCounterIsConfiguredAgainWaitsForARestart", "[fate]") {
  for (const bool as_it_runs : {false, true})
    CHECK(at_reload(StopCause::elsewhere, StopCause::none, as_it_runs) == Fate::needs_restart);
  // Where the store refuses, a restart alone would not help.
  CHECK(at_reload(StopCause::elsewhere, StopCause::none, true, true) == Fate::goes_on);
}

}  // namespace
}  // namespace seqd

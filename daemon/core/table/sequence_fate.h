// SequenceFate: what becomes of a sequence that the log has, under the settings that the
// configuration has for its name now. Pure; any thread.
//
// A start may change the counter: nothing is under way, and a sequence of which nothing is open
// moves to the counter that is configured. A reload does not: leases and returns may be under way
// at the counter in use, so a sequence goes on with it until the restart.
//
// At a start:
//
//   configured    may move   fate
//   its counter   -          goes_on
//   another       yes        moves
//   another       no         stops
//   not at all    -          stops
//
// At a reload, by the first row that holds:
//
//   stopped by          configured    as it runs   fate
//   unconfigured        not at all    -            stays_unconfigured
//   unconfigured        its counter   -            goes_on
//   unconfigured        another       -            stops
//   anything, nothing   not at all    -            needs_restart
//   elsewhere           its counter   -            needs_restart, unless its store refuses: then a
//                                                  restart alone would not help
//   anything, nothing   any           no           needs_restart
//   elsewhere, changed  another       yes          stays_stopped
//   anything, nothing   any           yes          goes_on
//
// In the last row "another" is the counter of a sequence that moved at the start and has not leased
// since (until then the log has its former one), or of one that will insert documents.
#pragma once

#include <cstdint>

#include "daemon/core/sequence/sequence_gate.h"

namespace seqd {

enum class SequenceFate : std::uint8_t {
  goes_on,             // the settings apply; one that its store or counter stops stays stopped
  moves,               // the settings apply, and it leases from their counter
  stops,               // it is stopped, and its IDs are kept: no bounds of the settings apply
  stays_stopped,       // the same of one that was stopped before; it needs no other error
  stays_unconfigured,  // nothing changes; a restart would change nothing either
  needs_restart,       // nothing changes: it goes on, or stays stopped, until a restart
};

// What a fate follows from.
struct FateFacts {
  enum class At : std::uint8_t { start, reload };

  At at = At::start;
  StopCause mismatch =
      StopCause::none;  // as check_configured() says: none, unconfigured or elsewhere
  // At a start: nothing of its counter is open, its ordinals are the same IDs at the other counter,
  // and the store of that one runs.
  bool may_move = false;
  // At a reload.
  StopCause stopped_by = StopCause::none;
  bool as_it_runs = false;     // the options of store, counter and progression have not changed
  bool store_refuses = false;  // see StoreScope::refuses()
};

SequenceFate find_fate(const FateFacts& facts);

}  // namespace seqd

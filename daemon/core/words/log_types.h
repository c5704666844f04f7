// The words that the entries of the log are made of: numbers that stand for names, and kinds.
// Values; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace seqd {

// Numbers that stand for names inside one state directory. A number is never given to another name:
// after the last number, new names are refused.
using SequenceId = std::uint32_t;
using ScopeId = std::uint32_t;   // one store, as this state directory knows it
using ClientId = std::uint64_t;  // 0: a client without an identity, whose requests cannot be
                                 // repeated. Every identity takes a number, so 32 bits would not do

constexpr SequenceId kLastSequence = 0xffff'fffe;
constexpr ClientId kLastClient = (ClientId{1} << 62) - 1;

// Whether this daemon may issue from the ranges of a store (start_rules.h).
enum class ScopeState : std::uint8_t {
  clean,     // left by an orderly stop, or new: the epoch in the store has to be claimed first
  claiming,  // a claim with `nonce` may have reached the store
  owned,     // ours at `epoch`
};

// What was found when the heartbeat of a store was compared with the log.
enum class StoreAge : std::uint8_t {
  current,
  restored,  // it was put back from an older copy; an operator has to raise its counters
  raised,    // the same, and this host has raised all of its own
  replaced,  // the same, and another copy was put in place since: they have to be raised again
};

enum class IssueKind : std::uint8_t {
  single,  // request numbers request, request + 1, ... got one ID each
  batch,   // all of it belongs to `request`
  text,    // as single, and each got its ID as text, which may contain the time of the issue
};

// Which of the forms of a name (DefineName::forms) a text was issued in.
using TextForm = std::uint8_t;

// Whether requests of that kind get one ID each, so that those of several can be one entry.
constexpr bool is_one_each(IssueKind kind) {
  return kind != IssueKind::batch;
}

// What an ID is issued as. `wall_s` of a text: the time in it, in seconds since 1970.
struct IssueAs {
  IssueKind kind = IssueKind::single;
  TextForm form = 0;  // of a text
  std::int64_t wall_s = 0;
};

enum class LeaseEnd : std::uint8_t {
  refused,      // certainly not applied
  untraceable,  // never known: a gap of unknown place, at most `count` IDs
};

// What became of a range that was being returned to the store.
enum class ReturnEnd : std::uint8_t {
  returned,  // the store has it; it is not ours any more
  kept,      // it was not returned and never will be: a gap
};

enum class GapCause : std::uint8_t {
  power_loss,     // may have been issued before the power went
  no_witness,     // the state directory may be a copy or an older state
  epoch_lost,     // another daemon took the remainder over
  corrupt,        // the record on disk is damaged
  out_of_bounds,  // above the sequence's maximum, or otherwise never issuable
  unrecorded,     // made by a start that was killed before it could say why; in no log
  drained,        // drained by an operator, and not returned
  period_end,     // left over when the period was over
  superseded,     // below the floor to which an operator advanced the counter for every host
  restored,       // available when the database was put back from an older copy
  block_lost,     // of a block whose page is gone; how far it was taken is not known
};

constexpr GapCause kLastGapCause = GapCause::block_lost;

// The name of a cause in journal fields and answers, "power_loss".
std::string_view gap_cause_name(GapCause cause);

}  // namespace seqd

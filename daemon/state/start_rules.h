// The start rules R1-R3: which of the ranges found on disk this daemon may issue from. Pure
// functions; the proof that they never let two daemons issue one ID is tests/model (clone, disk).
//
// R1  The witness of this boot matches: this is where a killed daemon left off. Go on.
// R2  The scope was left by an orderly stop: keep its ranges; the core claims the epoch in the
//     store before it issues from them, and one copy of the directory at most wins that.
// R3  Anything else (power loss, copy, restored copy): every available range is a gap. So it is of
//     a clean log where the witness of this boot knows newer turns of this directory: the store
//     that would refuse the claim may have been restored, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/random.h"
#include "daemon/core/log/state_image.h"
#include "daemon/state/recovery.h"
#include "daemon/state/witness.h"

namespace seqd {

enum class AfterPowerLoss : std::uint8_t {
  forfeit,  // R3: all available ranges are gaps
  resume,   // continue above what was reserved. Only if no copy of the directory ever runs.
};

struct Evidence {
  Token boot_id{};  // of the running system
  FileIdentity directory;
  std::optional<Witness::Testimony> witness;
  AfterPowerLoss after_power_loss = AfterPowerLoss::forfeit;
};

enum class Verdict : std::uint8_t {
  fresh,    // there is no log
  witness,  // R1: a kill, of this boot
  clean,    // R2
  resume,   // R3, where the operator allows it
  forfeit,  // R3
};

struct Judgement {
  Verdict verdict = Verdict::forfeit;
  GapCause cause = GapCause::no_witness;
  // `state_how` of stat: "fresh"; "witness": continued after a kill; "clean": after a stop, with or
  // without a witness; "resumed above what was reserved: ..."; or "forfeited: ...".
  std::string how;
  // Turns of this boot are missing: scopes that were left clean count as well.
  bool is_older = false;
};

// What to do with the scopes that are not clean.
Judgement judge(const Evidence& evidence, const Recovered& recovered);

struct Changes {
  std::vector<GapMade> gaps;
  // Leases in flight that were given up: this daemon must not look them up in the store, because
  // another copy of the directory may do so, and would get the same range.
  std::vector<LeaseIntended> dropped;
};

// Reduces the image to what this daemon may continue with.
Result<Changes> carry_out(const Judgement& judgement, StateImage& image, Random& random,
                          std::int64_t wall_ms);

}  // namespace seqd

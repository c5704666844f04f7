#include "daemon/state/start_rules.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// Empty when the witness matches; otherwise why it does not.
std::string why_no_witness(const Evidence& evidence, const Recovered& recovered) {
  const std::optional<Witness::Testimony>& witness = evidence.witness;
  if (!witness || witness->boot_id != evidence.boot_id ||
      recovered.header.boot_id != evidence.boot_id) {
    return recovered.header.boot_id == evidence.boot_id
               ? "there is no witness: the state directory is a copy, or the witness was removed"
               : "the machine was restarted without an orderly stop of seqd, or the state "
                 "directory is a copy";
  }
  if (witness->nonce != recovered.header.nonce || witness->directory != evidence.directory) {
    return "the witness is that of another state: the state directory was replaced";
  }
  if (recovered.sealed) return "the newest part of the log is damaged";
  if (witness->position > recovered.position) {
    return "the log is older than its witness: it is damaged or was restored from a copy";
  }
  // The witness follows every turn, so it is behind by the last one at most.
  if (recovered.position - witness->position > 1) {
    return "the log is newer than its witness: the state directory was replaced";
  }
  return "";
}

// There were newer turns that the log does not have: in a segment that replaced it, or in this boot
// and directory. The nonce does not show that: each start under R2 or R3 draws a new one, so a
// witness of an earlier start has another nonce and is older. Positions continue over starts.
bool misses_turns(const Evidence& evidence, const Recovered& recovered) {
  if (recovered.sealed) return true;
  const std::optional<Witness::Testimony>& witness = evidence.witness;
  if (!witness || witness->boot_id != evidence.boot_id || witness->directory != evidence.directory)
    return false;
  if (recovered.header.boot_id != evidence.boot_id) return false;
  return witness->position > recovered.position;
}

bool has_dirty_scope(const StateImage& image) {
  return std::any_of(image.scopes.begin(), image.scopes.end(),
                     [](const auto& scope) { return scope.second.state == ScopeState::owned; });
}

// The image of one start being changed.
class Transformation {
 public:
  Transformation(const Judgement& judgement, StateImage& image, std::int64_t wall_ms)
      : judgement_(judgement), image_(image), wall_ms_(wall_ms) {}

  Status forfeit(ScopeId scope) {
    ASSERT(image_.scopes.contains(scope));
    for (auto& [id, sequence] : image_.sequences) {
      if (sequence.definition.scope != scope) continue;
      if (Status status = end_blocks(sequence); !status.ok()) return status;
      while (!sequence.ranges.empty()) {
        const std::size_t had = sequence.ranges.size();
        const AvailableRange& range = sequence.ranges.front();
        Status status = make_gap(id, range.begin, range.end);
        if (!status.ok()) return status;
        ASSERT(sequence.ranges.size() < had);
      }
      // A copy with the same log may return the same range; the store answers that it was done.
      if (sequence.returning) {
        const ReturnOpened open = *sequence.returning;
        changes_.gaps.push_back({id, open.begin, open.end, judgement_.cause, wall_ms_});
        Status status =
            image_.apply(ReturnClosed{id, open.token, ReturnEnd::kept, judgement_.cause, wall_ms_});
        if (!status.ok()) return status;
      }
      if (!sequence.intent) continue;
      const LeaseIntended intent = *sequence.intent;
      changes_.dropped.push_back(intent);
      Status status = image_.apply(LeaseClosed{id, intent.lease, LeaseEnd::untraceable, wall_ms_});
      if (!status.ok()) return status;
    }
    // Without a claim it becomes another instance; another copy of this directory keeps the former.
    image_.scopes[scope].epoch = 0;
    return {};
  }

  // Instance and epoch stay: if another daemon has taken the remainder over meanwhile, the claim in
  // the store is lost.
  Status resume(ScopeId scope) {
    ASSERT(image_.scopes.contains(scope));
    for (auto& [id, sequence] : image_.sequences) {
      if (sequence.definition.scope != scope) continue;
      if (Status status = end_blocks(sequence); !status.ok()) return status;
      const std::vector<AvailableRange> ranges(sequence.ranges.begin(), sequence.ranges.end());
      for (const AvailableRange& range : ranges) {
        if (range.reserved_end == range.begin) continue;
        Status status = make_gap(id, range.begin, range.reserved_end);
        if (!status.ok()) return status;
      }
    }
    image_.scopes[scope].state = ScopeState::clean;
    return {};
  }

  Changes take() { return std::move(changes_); }

 private:
  // Their pages went with the boot, or are those of another copy: all of each is a gap.
  Status end_blocks(SequenceImage& sequence) {
    while (!sequence.blocks.empty()) {
      const BlockGranted out = sequence.blocks.begin()->second.granted;
      Status status =
          image_.apply(BlockEnded{out.sequence, out.client, out.slot, out.begin, out.begin});
      if (status.ok()) status = make_gap(out.sequence, out.begin, out.end);
      if (!status.ok()) return status;
    }
    return {};
  }
  Status make_gap(SequenceId sequence, std::int64_t begin, std::int64_t end) {
    changes_.gaps.push_back({sequence, begin, end, judgement_.cause, wall_ms_});
    return image_.apply(changes_.gaps.back());
  }

  const Judgement& judgement_;
  StateImage& image_;
  const std::int64_t wall_ms_;
  Changes changes_;
};

}  // namespace

// By the first row that holds:
//
//   the log                                        verdict, and cause of the gaps
//   no file, or empty ones                         fresh
//   no file can be read                            forfeit, corrupt
//   agrees with the witness                        witness
//   turns are missing at its end                   forfeit, corrupt; it is older
//   all scopes were left clean                     clean: what is damaged belongs to none of them
//   is damaged before its end (looked for if       forfeit, corrupt
//     after_power_loss = "resume")
//   of this boot                                   forfeit, no_witness: it may be a copy
//   of another boot; after_power_loss = "resume"   resume, power_loss
//   of another boot                                forfeit, power_loss
Judgement judge(const Evidence& evidence, const Recovered& recovered) {
  if (recovered.file < 0) {
    if (recovered.empty[0] && recovered.empty[1]) return {Verdict::fresh, {}, "fresh"};
    return {Verdict::forfeit, GapCause::corrupt, "forfeited: neither log file can be read"};
  }
  const std::string why = why_no_witness(evidence, recovered);
  if (why.empty()) {
    // Scopes that were left clean are claimed all the same, before anything is issued from them.
    return {Verdict::witness, {}, has_dirty_scope(recovered.image) ? "witness" : "clean"};
  }
  if (misses_turns(evidence, recovered)) {
    const std::string reason = recovered.sealed ? "the newest part of the log is damaged" : why;
    return {Verdict::forfeit, GapCause::corrupt, "forfeited: " + reason, true};
  }
  if (!has_dirty_scope(recovered.image)) return {Verdict::clean, {}, "clean"};
  const bool other_boot = recovered.header.boot_id != evidence.boot_id;
  if (recovered.rotten) {
    return {Verdict::forfeit, GapCause::corrupt, "forfeited: the log is damaged before its end"};
  }
  if (!other_boot) return {Verdict::forfeit, GapCause::no_witness, "forfeited: " + why};
  if (evidence.after_power_loss == AfterPowerLoss::resume) {
    return {Verdict::resume, GapCause::power_loss, "resumed above what was reserved: " + why};
  }
  return {Verdict::forfeit, GapCause::power_loss, "forfeited: " + why};
}

Result<Changes> carry_out(const Judgement& judgement, StateImage& image, Random& random,
                          std::int64_t wall_ms) {
  ASSERT(!judgement.is_older || judgement.verdict == Verdict::forfeit);
  Transformation transformation(judgement, image, wall_ms);
  if (judgement.verdict != Verdict::witness) {
    bool any_reduced = false;
    for (auto& [id, scope] : image.scopes) {
      if (scope.state == ScopeState::owned || judgement.is_older) {
        any_reduced = true;
        Status status = judgement.verdict == Verdict::resume ? transformation.resume(id)
                                                             : transformation.forfeit(id);
        if (!status.ok()) return status;
      }
      // The store never confirmed it, so there is nothing to lose. A copy is another instance then:
      // one that was forgotten by the store is never made again.
      if (scope.epoch == 0) scope.instance = random_token(random);
      // A copy would repeat the same claim and win it, too. With a nonce of its own only one of
      // them wins.
      scope.state = ScopeState::clean;
      scope.nonce = Token{};
    }
    // Another copy may answer repeats from the same replay table.
    if (any_reduced) image.clients.clear();
  }
  // A reservation that was read may be in the page cache only: the core reserves again.
  for (auto& [id, sequence] : image.sequences) {
    for (AvailableRange& range : sequence.ranges) range.reserved_end = range.begin;
  }
  return transformation.take();
}

}  // namespace seqd

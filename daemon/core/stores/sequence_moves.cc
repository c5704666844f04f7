#include "daemon/core/stores/sequence_moves.h"

#include "daemon/core/stores/sequences.h"

namespace seqd {

void share_marks(const Sequences& sequences, const LeasedBelow& marks) {
  for (Sequence* const sequence : sequences.all()) {
    SequenceDefinition& one = sequence->definition();
    one.raise_high_water(marks.of(one.logged()));
  }
}

FormerCounter Moves::leave(const DefineSequence& former, const StoreScope& scope) {
  if (leased_.empty()) {
    for (const auto& [id, one] : image_.sequences) leased_.add(one.definition);
  }
  moved_.add(former);
  return {former, counter_place(scope, former.binding), leased_.of(former)};
}

void Moves::share_marks_with(const Sequences& sequences) const {
  if (!moved_.empty()) share_marks(sequences, moved_);
}

bool has_open_ranges(const SequenceImage& image) {
  return !image.ranges.empty() || !image.blocks.empty() || image.intent || image.returning;
}

bool may_move(const DefineSequence& former, const SequenceSettings& settings) {
  // A sequence with periods leases from the counters of these, and never from its own.
  const bool has_counter = settings.periods.rule == nullptr || settings.periods.current;
  return settings.mode == SequenceMode::lease && has_counter &&
         same_ordinals(former.binding, settings.binding, settings.progression);
}

std::string counter_place(const StoreScope& scope, const std::string& binding) {
  const std::string place = scope.bound() ? " (" + scope.bound()->place + ")" : "";
  return "store \"" + scope.store_name() + "\"" + place + ", counter " + binding;
}

Stopped check_configured(const DefineSequence& definition, const StoreScope& scope,
                         const SequenceSettings* settings) {
  const std::string name = "\"" + definition.name + "\"";
  if (settings == nullptr)
    return {StopCause::unconfigured,
            {ErrorCode::NO_SEQUENCE,
             name +
                 " is not configured any more; its remainder is kept: configure it again, or give "
                 "it up with `seqctl drain " +
                 definition.name + " --remove`"}};
  if (settings->mode != SequenceMode::lease) {
    const bool inserts = settings->mode == SequenceMode::insert;
    return {StopCause::elsewhere,
            {ErrorCode::SEQ_CHANGED,
             name + " leased ranges before, which are kept, and is configured " +
                 (inserts ? "to insert documents now: give the sequence that inserts another name"
                          : "as a register now: give the register another name")}};
  }
  if (settings->store == scope.store_name() &&
      same_counter(definition.binding, settings->binding, settings->progression))
    return {};
  const std::string remedy =
      may_move(definition, *settings)
          ? ": configure the former counter, which keeps these IDs; or make them a gap (`seqctl "
            "drain " +
                definition.name +
                " --yes`) and restart: then the sequence continues at the other counter, above them"
          : ": configure the former counter, or give the sequence another name";
  return {StopCause::elsewhere,
          {ErrorCode::SEQ_CHANGED,
           "the remainder of " + name + " came from " + counter_place(scope, definition.binding) +
               "; the configuration says store \"" + settings->store + "\", counter " +
               binding_text(settings->binding, settings->progression) + remedy}};
}

}  // namespace seqd

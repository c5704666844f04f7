// The part of sequence_table.h that applies the configuration to sequences that the log has: at a
// start, when they are made of it, and at a reload.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/settings/counter_identity.h"
#include "daemon/core/stores/sequence_moves.h"
#include "daemon/core/table/sequence_fate.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

// IDs are what they were when they were leased from the counter `held`. `of_another`: the settings
// are those of another counter, whose bounds do not apply to these IDs.
void keep_ids(const std::string& held, bool of_another, SequenceSettings& settings) {
  settings.progression.compiled =
      held_progression(held, of_another ? ProgressionSettings() : settings.progression);
  if (of_another) settings.max_value = kLastOrdinal;
}

// Whether the settings have the store, the counter and the progression with which it runs.
bool runs_with(const Sequence& sequence, const SequenceSettings& settings) {
  return settings.store == sequence.scope().store_name() &&
         settings.binding == sequence.definition().binding() &&
         settings.progression == sequence.settings().progression;
}

}  // namespace

void SequenceTable::restore_sequence(const SequenceImage& image, Moves& moves) {
  DefineSequence definition = image.definition;
  const StoreScope& scope = scopes_.at(definition.scope);
  const SequenceSettings* const configured = settings_.find(definition.name);
  Stopped mismatch = check_configured(definition, scope, configured);
  FateFacts facts{.at = FateFacts::At::start, .mismatch = mismatch.by};
  facts.may_move = mismatch.by == StopCause::elsewhere && !has_open_ranges(image) &&
                   may_move(definition, *configured) && scopes_.store(configured->store) != nullptr;
  const SequenceFate fate = find_fate(facts);

  SequenceSettings settings = configured != nullptr ? *configured : SequenceSettings();
  keep_ids(definition.binding, fate == SequenceFate::stops, settings);
  if (fate == SequenceFate::moves) {
    definition.scope = scopes_.of_store(settings.store).id();
    definition.binding = binding_text(configured->binding, configured->progression);
  }
  Sequence& sequence = add(definition, settings);
  budgets_.defined(image.definition);
  sequence.restore(image);
  if (fate == SequenceFate::moves)
    sequence.definition().move_from(moves.leave(image.definition, scope));
  accounts_.restored(sequence);
  know_periods(sequence.name(), settings);
  if (fate == SequenceFate::stops) sequence.set_stopped(std::move(mismatch));
}

std::vector<std::string> SequenceTable::apply_settings(const TableLimits& limits) {
  limits_ = limits;
  replays_.set_limits(limits.replays);
  budgets_.set_limits(limits.state_bytes, limits.waiting);
  std::vector<std::string> need_restart;
  for (Sequence* const one : sequences_.all()) {
    if (!configure_again(*one)) need_restart.push_back(one->name());
  }
  return need_restart;
}

bool SequenceTable::configure_again(Sequence& sequence) {
  const SequenceSettings* const configured = settings_.find(sequence.name());
  Stopped mismatch = check_configured(sequence.definition().logged(), sequence.scope(), configured);
  FateFacts facts{.at = FateFacts::At::reload, .mismatch = mismatch.by};
  facts.stopped_by = sequence.stop_cause();
  facts.as_it_runs = configured != nullptr && runs_with(sequence, *configured);
  facts.store_refuses = sequence.scope().refuses();
  const SequenceFate fate = find_fate(facts);

  if (fate == SequenceFate::needs_restart) return false;
  if (fate == SequenceFate::stays_unconfigured) return true;
  // First: apply_settings() lets a sequence go on that is not stopped by its configuration.
  if (fate == SequenceFate::stops) sequence.set_stopped(std::move(mismatch));
  SequenceSettings settings = *configured;
  const bool of_another = fate == SequenceFate::stops || fate == SequenceFate::stays_stopped;
  keep_ids(sequence.definition().logged().binding, of_another, settings);
  const std::string key = std::exchange(settings.binding.key, {});
  sequence.apply_settings(shared_settings_.find(std::move(settings)), key);
  know_periods(sequence.name(), *configured);
  return true;
}

}  // namespace seqd

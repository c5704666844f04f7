#include "daemon/core/sequence/sequence_definition.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence_budgets.h"
#include "daemon/core/settings/counter_identity.h"

namespace seqd {

SequenceDefinition::SequenceDefinition(const SequenceContext& context,
                                       std::shared_ptr<const SequenceSettings> settings,
                                       const std::string& key, const DefineSequence& definition)
    : high_water_(definition.high_water),
      used_below_(definition.high_water),
      context_(context),
      settings_(std::move(settings)),
      name_(definition.name),
      id_(definition.sequence) {
  ASSERT(settings_->binding.key.empty());
  keep_counter(key, definition.binding);
}

CounterBinding SequenceDefinition::binding() const {
  CounterBinding binding = settings_->binding;
  binding.key = key();
  return binding;
}

DefineSequence SequenceDefinition::logged() const {
  if (former_ == nullptr) return own();
  DefineSequence former = former_->definition;
  former.high_water = high_water_;
  return former;
}

// As the log has it, or is to have it after its move.
DefineSequence SequenceDefinition::own() const {
  const bool is_configured = counter_ == nullptr || counter_->binding.empty();
  return {id_, context_.scope.id(), name_,
          is_configured ? binding_text(settings_->binding, key(), settings_->progression)
                        : counter_->binding,
          high_water_};
}

// What the settings and the name do not say of it; see DefineSequence.
void SequenceDefinition::keep_counter(const std::string& key, const std::string& binding) {
  const bool differs = binding != binding_text(settings_->binding, key, settings_->progression);
  counter_ = nullptr;
  if (differs || key != name_)
    counter_ = std::make_unique<const OwnCounter>(OwnCounter{key, differs ? binding : ""});
}

void SequenceDefinition::apply_settings(std::shared_ptr<const SequenceSettings> settings,
                                        const std::string& key) {
  ASSERT(settings->binding.key.empty());
  const std::string held = own().binding;
  settings_ = std::move(settings);
  keep_counter(key, held);
}

void SequenceDefinition::raise_high_water(std::int64_t to) {
  if (to <= high_water_) return;
  high_water_ = to;
  record_mark(logged());
}

// Without the second entry a return of all that was leased since would lower the mark again.
void SequenceDefinition::record_mark(const DefineSequence& definition) {
  note_used(definition.high_water);
  context_.core.log.append(definition);
  context_.core.log.append(UsedBelow{id_, used_below_});
}

void SequenceDefinition::move_from(FormerCounter former) {
  ASSERT(former_ == nullptr);
  former_ = std::make_unique<const FormerCounter>(std::move(former));
}

std::int64_t SequenceDefinition::leased_below() const {
  return former_ == nullptr ? high_water_ : std::max(high_water_, former_->leased_below);
}

Status SequenceDefinition::record_move() {
  if (former_ == nullptr) return {};
  DefineSequence here = own();
  here.high_water = leased_below();
  if (!context_.core.log.accepting())
    return {ErrorCode::UNAVAILABLE, "the log waits for the medium; try again"};
  if (!context_.budgets.redefine(former_->definition, here))
    return {ErrorCode::BUSY, "the log has no room to move \"" + name_ +
                                 "\" to another counter (daemon.state_log_size)"};
  high_water_ = here.high_water;
  record_mark(here);
  const std::string below = std::to_string(high_water_);
  context_.core.events.raise(
      {EventKind::sequence_moved,
       "\"" + name_ + "\" came from " + former_->where + ", and continues at store \"" +
           context_.scope.store_name() + "\", counter " + here.binding + ", not below " + below,
       {{"SEQUENCE", name_}, {"STORE", context_.scope.store_name()}, {"NEXT", below}}});
  former_ = nullptr;
  return {};
}

}  // namespace seqd

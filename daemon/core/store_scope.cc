#include "daemon/core/store_scope.h"

#include <utility>

namespace seqd {

StoreScope::StoreScope(const CoreContext& context, Owner& owner, DefineScope definition,
                       LeaseStore* store)
    : context_(context),
      owner_(owner),
      definition_(std::move(definition)),
      store_(store),
      self_(std::make_shared<StoreScope*>(this)) {
  if (definition_.state == ScopeState::owned) state_ = State::owned;
}

StoreScope::~StoreScope() {
  context_.timers.cancel(timer_);
}

void StoreScope::record(ScopeState state) {
  definition_.state = state;
  context_.log.append(definition_);
}

void StoreScope::start() {
  if (store_ == nullptr || stopping_) return;
  if (state_ == State::owned) {
    owner_.scope_owned(id());
    return;
  }
  begin_claim();
}

void StoreScope::begin_claim() {
  // A claim that an earlier start has sent is repeated with its own nonce, so that its success is
  // recognized.
  if (definition_.state != ScopeState::claiming) definition_.nonce = random_token(context_.random);
  state_ = State::recording;
  record(ScopeState::claiming);
  owner_.scope_appended(id());
}

void StoreScope::durable() {
  if (owning_) {
    owning_ = false;
    state_ = State::owned;
    owner_.scope_owned(id());
    return;
  }
  if (state_ == State::recording) send_claim();
}

void StoreScope::send_claim() {
  state_ = State::claiming;
  const ClaimRequest request{definition_.instance, definition_.epoch, definition_.nonce};
  store_->claim(request, [weak = std::weak_ptr(self_)](const Result<ClaimOutcome>& result) {
    if (const auto self = weak.lock()) (*self)->answered(result);
  });
}

void StoreScope::answered(const Result<ClaimOutcome>& result) {
  CHECK(state_ == State::claiming);
  if (stopping_) return;
  if (!result.ok()) {
    pause(result.status());
    return;
  }
  if (!last_error_.ok()) {
    context_.events.raise({EventKind::store_up,
                           "store \"" + store_name() + "\" answers again",
                           {{"STORE", store_name()}}});
  }
  backoff_.reset();
  last_error_ = Status();
  if (*result == ClaimOutcome::won) {
    ++definition_.epoch;
    record(ScopeState::owned);
    owning_ = true;
    owner_.scope_appended(id());
    return;
  }
  context_.events.raise(
      {EventKind::fenced,
       "another daemon has taken over the remainder of store \"" + store_name() + "\"",
       {{"STORE", store_name()}, {"INSTANCE", to_hex(definition_.instance)}}});
  owner_.scope_lost(id());
  definition_.instance = random_token(context_.random);
  definition_.epoch = 0;
  definition_.state = ScopeState::clean;
  begin_claim();
}

void StoreScope::pause(const Status& status) {
  last_error_ = status;
  context_.events.raise({EventKind::store_down,
                         "store \"" + store_name() + "\" does not answer: " + status.to_string(),
                         {{"STORE", store_name()}}});
  state_ = State::pausing;
  timer_ = context_.timers.schedule(backoff_.next_ms(context_.random), [this] {
    timer_ = 0;
    send_claim();
  });
}

bool StoreScope::leave_clean() {
  // A claim under way stays as it is: it is repeated, with its nonce, at the next start.
  if (definition_.state != ScopeState::owned) return false;
  record(ScopeState::clean);
  return true;
}

void StoreScope::stop() {
  stopping_ = true;
  context_.timers.cancel(std::exchange(timer_, 0));
}

}  // namespace seqd

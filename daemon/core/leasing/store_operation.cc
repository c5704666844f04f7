#include "daemon/core/leasing/store_operation.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

constexpr StateTable<StoreOperation::State> StoreOperation::kMoves = {
    {State::left, "left", {State::asking}},
    {State::recording, "recording", {State::asking, State::paused}},
    {State::asking, "asking", {State::paused}},
    {State::paused, "paused", {State::asking}},
};

StoreOperation::StoreOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                               Opened opened, State first)
    : context_(context),
      owner_(owner),
      store_(store),
      opened_(std::move(opened)),
      state_(kMoves, first) {}

void StoreOperation::begin() {
  ASSERT(state_ == State::recording && store_ != nullptr);
  std::visit([this](const auto& entry) { context_.log.append(entry); }, opened_);
  owner_.when_durable(alive_.guard([this] { durable(); }));
}

void StoreOperation::durable() {
  ASSERT(state_ == State::recording);
  if (!owner_.may_ask()) return hold_back();
  ask();
}

void StoreOperation::adopt() {
  if (state_ == State::left) ask();
}

void StoreOperation::go_on() {
  if (state_ == State::paused && !timer_.running() && owner_.may_ask()) ask();
}

void StoreOperation::go_on_after(std::int64_t delay_ms) {
  ASSERT(state_ == State::paused);
  timer_.start(delay_ms, [this] { go_on(); });
}

void StoreOperation::ask() {
  ASSERT(store_ != nullptr && owner_.may_ask());
  state_.move_to(State::asking);
  send();
}

}  // namespace seqd

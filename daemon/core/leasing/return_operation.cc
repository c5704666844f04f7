#include "daemon/core/leasing/return_operation.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

constexpr StateTable<ReturnOperation::State> ReturnOperation::kMoves = {
    {State::idle, "idle", {State::recording, State::asking, State::pausing}},
    {State::recording, "recording", {State::asking, State::pausing}},
    {State::asking, "asking", {State::idle, State::pausing}},
    {State::pausing, "pausing", {State::asking, State::idle}},
};

ReturnOperation::ReturnOperation(const CoreContext& context, Owner& owner, SequenceId sequence,
                                 std::string name)
    : context_(context), owner_(owner), sequence_(sequence), name_(std::move(name)) {}

void ReturnOperation::start(const IdRange& range, Reuse reuse, std::int64_t deadline_ms) {
  ASSERT(!opened_ && !stopping_ && store_ != nullptr);
  ASSERT(reuse != Reuse::never && !range.empty());
  const Token token = store_->new_token(context_.random, owner_.return_request().binding);
  opened_ =
      ReturnOpened{sequence_, token, range.begin(), range.end(), reuse, context_.clock.wall_ms()};
  deadline_ms_ = deadline_ms;
  give_up_ = false;
  state_.move_to(State::recording);
  context_.log.append(*opened_);
  owner_.when_durable([this] { durable(); });
}

void ReturnOperation::durable() {
  ASSERT(state_ == State::recording);
  ask();
}

void ReturnOperation::adopt(const ReturnOpened& opened, std::int64_t deadline_ms) {
  ASSERT(state_ == State::idle && !opened_ && store_ != nullptr);
  ASSERT(opened.sequence == sequence_ && opened.begin < opened.end);
  opened_ = opened;
  deadline_ms_ = deadline_ms;
  give_up_ = false;
  ask();
}

void ReturnOperation::abandon(const ReturnOpened& opened, GapCause cause, const Status& why) {
  ASSERT(state_ == State::idle && !opened_ && opened.sequence == sequence_);
  opened_ = opened;
  close(ReturnEnd::kept, cause, why);
}

void ReturnOperation::abandon_open(GapCause cause, const Status& why) {
  if (state_ != State::pausing) return;
  timer_.cancel();
  close(ReturnEnd::kept, cause, why);
}

void ReturnOperation::stop() {
  stopping_ = true;
  timer_.cancel();
}

void ReturnOperation::go_on() {
  if (state_ == State::pausing && !timer_.running() && !stopping_) ask();
}

void ReturnOperation::ask() {
  ASSERT(opened_ && store_ != nullptr);
  const bool asks = owner_.may_ask();
  if (!asks && state_ == State::pausing) return;  // until go_on()
  state_.move_to(asks ? State::asking : State::pausing);
  if (!asks) return;
  ReturnRequest request = owner_.return_request();
  request.token = opened_->token;
  request.begin = opened_->begin;
  request.end = opened_->end;
  request.reuse = opened_->reuse;
  request.give_up = give_up_ || context_.clock.monotonic_ms() >= deadline_ms_;
  store_->return_range(request,
                       alive_.guard([this](const ReturnOutcome& outcome) { answered(outcome); }));
}

void ReturnOperation::answered(const ReturnOutcome& outcome) {
  ASSERT(state_ == State::asking);
  switch (outcome.kind) {
    case ReturnOutcome::Kind::returned:
      close(ReturnEnd::returned, GapCause::drained, {});
      break;
    case ReturnOutcome::Kind::kept:
      close(ReturnEnd::kept, GapCause::drained, outcome.error);
      break;
    case ReturnOutcome::Kind::failed:
      if (!outcome.restored) return pause(outcome);
      state_.move_to(State::pausing);  // an older copy proves nothing about it
      owner_.met_older_copy();
      break;
  }
}

void ReturnOperation::close(ReturnEnd how, GapCause cause, const Status& why) {
  ASSERT(opened_);
  const ReturnOpened opened = *std::exchange(opened_, std::nullopt);
  const ReturnClosed closed{sequence_, opened.token, how, cause, context_.clock.wall_ms()};
  context_.log.append(closed);
  backoff_.reset();
  if (state_ != State::idle) state_.move_to(State::idle);
  owner_.return_over(opened, closed, why);
}

void ReturnOperation::pause(const ReturnOutcome& outcome) {
  ASSERT(opened_ && !timer_.running());
  const Status& why = outcome.error;
  if (error_info(why.code()).retry != Retry::again) give_up_ = true;
  state_.move_to(State::pausing);
  context_.events.raise({EventKind::return_failed,
                         "[" + std::to_string(opened_->begin) + ", " +
                             std::to_string(opened_->end) + ") of \"" + name_ +
                             "\" is not returned yet: " + why.to_string(),
                         {{"SEQUENCE", name_}, {"LEASE", to_hex(opened_->token)}}});
  if (stopping_) return;
  const std::int64_t delay_ms = outcome.contended ? backoff_.next_after_conflict_ms(context_.random)
                                                  : backoff_.next_ms(context_.random);
  timer_.start(delay_ms, [this] { ask(); });
}

}  // namespace seqd

#include "daemon/core/leasing/return_operation.h"

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;

// How long a return of an earlier daemon is tried before it is abandoned.
constexpr std::int64_t kAdoptedMs = 30'000;

}  // namespace

ReturnOperation::ReturnOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                                 const ReturnOpened& opened, std::int64_t deadline_ms)
    : StoreOperation(context, owner, store, opened, State::recording), deadline_ms_(deadline_ms) {
  ASSERT(opened.reuse != Reuse::never && opened.begin < opened.end);
}

ReturnOperation::ReturnOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                                 const ReturnOpened& left)
    : StoreOperation(context, owner, store, left, State::left) {
  ASSERT(left.begin < left.end);
}

void ReturnOperation::hold_back() {
  pause();
}

void ReturnOperation::send() {
  const std::int64_t now_ms = context_.clock.monotonic_ms();
  if (!deadline_ms_) deadline_ms_ = now_ms + kAdoptedMs;
  const LeaseRequest now = owner_.lease_request();
  ReturnRequest request;
  request.binding = now.binding;
  request.token = range_return()->token;
  request.instance = now.instance;
  request.sequence = now.sequence;
  request.begin = range_return()->begin;
  request.end = range_return()->end;
  request.reuse = range_return()->reuse;
  request.give_up = give_up_ || now_ms >= *deadline_ms_;
  request.heartbeat = now.heartbeat;
  store_->return_range(request,
                       alive_.guard([this](const ReturnOutcome& outcome) { answered(outcome); }));
}

void ReturnOperation::abandon(GapCause cause, const Status& why) {
  if (!in_flight()) close(ReturnEnd::kept, cause, why);
}

void ReturnOperation::answered(const ReturnOutcome& outcome) {
  ASSERT(state() == State::asking);
  switch (outcome.kind) {
    case ReturnOutcome::Kind::returned:
      return close(ReturnEnd::returned, GapCause::drained, {});
    case ReturnOutcome::Kind::kept:
      return close(ReturnEnd::kept, GapCause::drained, outcome.error);
    case ReturnOutcome::Kind::failed:
      break;
  }
  // An older copy proves nothing about it.
  if (!outcome.restored && error_info(outcome.error.code()).retry != Retry::again) give_up_ = true;
  pause({.kind = Kind::failed,
         .why = outcome.error,
         .contended = outcome.contended,
         .restored = outcome.restored});
}

void ReturnOperation::close(ReturnEnd how, GapCause cause, const Status& why) {
  context_.log.append(ReturnClosed{range_return()->sequence, range_return()->token, how, cause,
                                   context_.clock.wall_ms()});
  const bool returned = how == ReturnEnd::returned;
  owner_.happened({.kind = returned ? Kind::returned : Kind::kept, .why = why, .cause = cause});
}

}  // namespace seqd

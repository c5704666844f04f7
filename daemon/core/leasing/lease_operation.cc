#include "daemon/core/leasing/lease_operation.h"

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/gap_event.h"
#include "daemon/core/words/ordinal.h"

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;

// So that sums of parked ranges, which others can write, stay within 64 bits.
constexpr std::int64_t kLongestParked = std::int64_t{1} << 53;

}  // namespace

LeaseOperation::LeaseOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                               SequenceId sequence, LeaseRequest request)
    : StoreOperation(context, owner, store,
                     LeaseIntended{sequence, request.token, request.count, context.clock.wall_ms()},
                     State::recording),
      request_(std::move(request)) {
  ASSERT(request_->count >= 1);
}

LeaseOperation::LeaseOperation(const CoreContext& context, Owner& owner, LeaseStore* store,
                               const LeaseIntended& left)
    : StoreOperation(context, owner, store, left, State::left), sent_(true) {}

// It was requested under the settings of its time, which may have been others: what the store
// granted then is ours. The owner makes the part above the present maximum a gap.
LeaseRequest LeaseOperation::former_request() const {
  LeaseRequest request = owner_.lease_request();
  request.token = lease()->lease;
  request.count = lease()->count;
  request.take_parked = true;
  request.max_value = kLastOrdinal;
  return request;
}

void LeaseOperation::hold_back() {  // an older copy was found meanwhile
  close(LeaseEnd::refused, {Kind::absent});
}

void LeaseOperation::send() {
  if (!request_) request_ = former_request();
  if (std::exchange(sent_, true)) return look_up();
  request_->heartbeat = owner_.lease_request().heartbeat;  // that of now, not of the intent
  store_->lease(*request_,
                alive_.guard([this](const LeaseOutcome& result) { lease_answered(result); }));
}

void LeaseOperation::look_up() {
  // That of now; an instance that was replaced since has none.
  const LeaseRequest now = owner_.lease_request();
  request_->heartbeat = now.instance == request_->instance ? now.heartbeat : 0;
  store_->resolve(*request_,
                  alive_.guard([this](const Resolution& result) { look_up_answered(result); }));
}

void LeaseOperation::abandon(GapCause, const Status&) {
  if (in_flight()) return;
  close(LeaseEnd::untraceable, {Kind::abandoned});
}

void LeaseOperation::lease_answered(const LeaseOutcome& result) {
  ASSERT(state() == State::asking);
  if (result.kind == LeaseOutcome::Kind::refused)
    return close(LeaseEnd::refused,
                 {Kind::refused, result.error, result.contended, result.restored});
  if (result.restored) return pause({.kind = Kind::failed, .why = result.error, .restored = true});
  if (result.kind == LeaseOutcome::Kind::granted)
    return granted(result.begin, result.end, result.parked, EventKind::lease_granted);
  raise(EventKind::lease_unknown, "the outcome of a lease of \"" + request_->sequence +
                                      "\" is unknown: " + result.error.to_string());
  pause({Kind::unknown, result.error});
}

void LeaseOperation::look_up_answered(const Resolution& result) {
  ASSERT(state() == State::asking);
  // An older copy proves nothing about a lease: it stays open until the right database can be
  // queried, or the store continues without it.
  if (result.restored) return pause({.kind = Kind::failed, .why = result.error, .restored = true});
  switch (result.kind) {
    case Resolution::Kind::granted:
      return granted(result.begin, result.end, result.parked, EventKind::lease_resolved);
    case Resolution::Kind::absent:
      return close(LeaseEnd::refused, {Kind::absent});
    case Resolution::Kind::untraceable:
      return close(LeaseEnd::untraceable, {Kind::untraceable});
    case Resolution::Kind::failed:
      return pause({Kind::failed, result.error});
  }
}

Status LeaseOperation::check(std::int64_t begin, std::int64_t end, bool parked) const {
  const bool takes_parked = parked && request_->take_parked;
  if (!takes_parked && begin < request_->high_water) {
    return {ErrorCode::SEQ_REGRESSED,
            "the store granted [" + std::to_string(begin) + ", " + std::to_string(end) +
                ") although IDs below " + std::to_string(request_->high_water) +
                " were leased before: the counter was set back; move it forward before going on"};
  }
  // A parked range may have been leased before the maximum was lowered.
  const std::int64_t last = takes_parked ? kLastOrdinal : request_->max_value;
  const std::int64_t most = takes_parked ? kLongestParked : request_->count;
  if (begin >= end || begin < 1 || end - begin > most || end - 1 > last) {
    return {ErrorCode::STORE_REFUSED, "the store granted [" + std::to_string(begin) + ", " +
                                          std::to_string(end) + "), which was not requested"};
  }
  return owner_.check_grant(begin, end);
}

void LeaseOperation::granted(std::int64_t begin, std::int64_t end, bool parked, EventKind how) {
  if (Status wrong = check(begin, end, parked); !wrong.ok())
    return close(LeaseEnd::untraceable, {Kind::untraceable, std::move(wrong)});
  context_.log.append(
      LeaseGranted{lease()->sequence, lease()->lease, begin, end, context_.clock.wall_ms()});
  raise(how, "leased [" + std::to_string(begin) + ", " + std::to_string(end) + ") for \"" +
                 request_->sequence + (parked ? "\", which was returned before" : "\""));
  owner_.happened({.kind = Kind::granted, .begin = begin, .end = end});
}

void LeaseOperation::close(LeaseEnd how, const OperationEvent& event) {
  context_.log.append(
      LeaseClosed{lease()->sequence, lease()->lease, how, context_.clock.wall_ms()});
  if (how == LeaseEnd::untraceable) {
    const LeaseRequest now = owner_.lease_request();
    context_.events.raise(
        untraceable_event(*lease(), now.sequence, request_ ? request_->instance : now.instance,
                          "cannot be traced; if the store applied it, they are a gap"));
  }
  owner_.happened(event);
}

void LeaseOperation::raise(EventKind kind, std::string text) {
  context_.events.raise({kind,
                         std::move(text),
                         {{"SEQUENCE", request_->sequence},
                          {"LEASE", to_hex(lease()->lease)},
                          {"COUNT", std::to_string(lease()->count)}}});
}

}  // namespace seqd

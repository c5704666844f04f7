#include "daemon/core/sequence/lease_slot.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/blocks/block_table.h"
#include "daemon/core/leasing/lease_operation.h"
#include "daemon/core/leasing/return_operation.h"
#include "daemon/core/leasing/store_scope.h"

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;

// Conflicts in a row that are worth a line in the journal: several seconds of them.
constexpr int kManyConflicts = 50;

}  // namespace

// --- what is open

std::optional<ReturnOpened> LeaseSlot::open_return() const {
  const ReturnOpened* const opened = empty() ? nullptr : open_->range_return();
  return opened == nullptr ? std::nullopt : std::optional(*opened);
}

std::int64_t LeaseSlot::returning() const {
  const std::optional<ReturnOpened> open = open_return();
  return open ? open->end - open->begin : 0;
}

bool LeaseSlot::fetches() const {
  if (replenisher_.pausing()) return true;
  if (!leasing() || open_->state() == StoreOperation::State::left) return false;
  return open_->in_flight() || !context().refusals.winds_down();
}

void LeaseSlot::restore(const SequenceImage& image) {
  ASSERT(empty() && (!image.intent || !image.returning));
  StoreOperation::Owner& owner = *this;
  LeaseStore* const store = context().scope.store();
  if (image.intent)
    open_ = std::make_unique<LeaseOperation>(context().core, owner, store, *image.intent);
  if (image.returning)
    open_ = std::make_unique<ReturnOperation>(context().core, owner, store, *image.returning);
}

// Also where requests are refused.
void LeaseSlot::adopt() {
  if (empty() || !context().refusals.ending.ok() || !context().scope.verified()) return;
  open_->adopt();
}

void LeaseSlot::go_on() {
  if (!empty() && !context().refusals.winds_down()) open_->go_on();
}

void LeaseSlot::stop() {
  if (!empty()) open_->stop();
}

void LeaseSlot::abandon(GapCause cause, const std::string& why) {
  if (empty()) return;
  open_->abandon(cause, {ErrorCode::FENCED, "it was being returned, and " + why});
}

// --- for the operation

LeaseRequest LeaseSlot::lease_request() const {
  const SequenceSettings& settings = definition_.settings();
  LeaseRequest request;
  request.binding = definition_.binding();
  request.instance = context().scope.instance();
  request.sequence = definition_.name();
  request.high_water = definition_.high_water();
  request.max_value = settings.last_ordinal();
  request.take_parked = settings.reuse == Reuse::parked;
  request.heartbeat = context().scope.known_beat();
  return request;
}

bool LeaseSlot::may_ask() const {
  return context().scope.verified();
}

void LeaseSlot::when_durable(std::function<void()> then) {
  context().table.when_durable(definition_.id(), std::move(then));
}

// Where this host has leased, the high-water mark knows a counter that was removed.
Status LeaseSlot::check_counter_kept() const {
  if (definition_.high_water() > 0) return {};
  return context().table.check_not_removed(definition_.id());
}

// As StateImage::check() and its totals. A range that was never leased before lies above all
// others; one that was returned lies where its record says.
Status LeaseSlot::check_grant(std::int64_t begin, std::int64_t end) const {
  // Also now: the host may have been suspended while the request was under way.
  if (Status removed = check_counter_kept(); !removed.ok()) return removed;
  const std::vector<const Block*> blocks = context().table.blocks().of(definition_.id());
  const bool is_out = std::any_of(blocks.begin(), blocks.end(), [&](const Block* block) {
    return block->granted.begin < end && begin < block->granted.end;
  });
  if (issuer_.held().has_some_of(begin, end) || is_out) {
    return {ErrorCode::SEQ_REGRESSED,
            "the store granted the returned range [" + std::to_string(begin) + ", " +
                std::to_string(end) +
                "), of which this host has IDs available: the records of returned ranges were "
                "edited or restored. `seqctl advance NAME --everywhere` drops all of them, and the "
                "sequence continues"};
  }
  const std::int64_t leased = issuer_.totals().leased;
  if (end - begin > std::numeric_limits<std::int64_t>::max() - leased) {
    return {ErrorCode::STORE_REFUSED, "the store granted " + std::to_string(end - begin) +
                                          " IDs, but " + std::to_string(leased) +
                                          " were leased of \"" + definition_.name() +
                                          "\" already: more cannot be counted. Give the "
                                          "sequence another name"};
  }
  return {};
}

void LeaseSlot::happened(const OperationEvent& event) {
  // One that is over is destroyed at the end of this.
  const std::unique_ptr<const StoreOperation> over = event.is_over() ? std::move(open_) : nullptr;
  const StoreOperation& operation = over == nullptr ? *open_ : *over;
  if (const LeaseIntended* const lease = operation.lease()) return lease_happened(event, *lease);
  return_happened(event, *operation.range_return());
}

void LeaseSlot::met_older_copy() {
  owner_.touch();
  context().scope.found_restored();
}

// --- leases

void LeaseSlot::begin_lease(std::int64_t count) {
  ASSERT(empty() && !context().refusals.winds_down() && context().scope.verified());
  LeaseStore* const store = context().scope.store();
  LeaseRequest request = lease_request();
  request.token = store->new_token(context().core.random, request.binding);
  request.count = count;
  StoreOperation::Owner& owner = *this;
  open_ = std::make_unique<LeaseOperation>(context().core, owner, store, definition_.id(),
                                           std::move(request));
  open_->begin();
}

// By what came of the lease. Put off: the next one waits for a back-off.
//
//   of an older copy     met_older_copy()
//   granted              the owner gets the range
//   absent               the owner decides again
//   abandoned            a gap that cannot be traced
//   unknown              looked up at once; as `failed` while the daemon ends
//   refused, contended   put off, by the number of conflicts; no request fails for it
//   refused, failed      put off; lease_failed(): requests fail, or the sequence stops
//   untraceable          a gap; put off; lease_failed() where the next lease would fail, too
void LeaseSlot::lease_happened(const OperationEvent& event, const LeaseIntended& lease) {
  const Status& why = event.why;
  if (!why.ok()) replenisher_.failed(why);
  if (event.restored) return met_older_copy();
  switch (event.kind) {
    case Kind::granted:
      replenisher_.granted();
      context().scope.note({});
      return owner_.leased(IdRange(event.begin, event.end), lease.lease);
    case Kind::absent:
      return owner_.touch();
    case Kind::abandoned:
      issuer_.note_untraceable();
      return replenisher_.abandoned();
    case Kind::unknown:
      if (!context().refusals.winds_down()) return open_->go_on();
      break;
    case Kind::refused:
      if (!event.contended) {
        raise_failed(lease, ": " + why.to_string());
        break;
      }
      if (const int conflicts = replenisher_.count_conflict(); conflicts % kManyConflicts == 0)
        raise_failed(lease,
                     " after " + std::to_string(conflicts) + " attempts: " + why.to_string());
      put_lease_off(true);
      owner_.touch();
      return context().scope.note({});
    case Kind::untraceable:
      issuer_.note_untraceable();
      replenisher_.want_nothing();
      if (!why.ok()) raise_failed(lease, ": " + why.to_string());
      break;
    case Kind::failed:
      break;
    case Kind::returned:
    case Kind::kept:
      ASSERT(false);
  }
  put_lease_off(false);  // a range may also be lost as fast as the store answers
  // One that cannot be traced, and says no more, ends with the error of its last look-up.
  const Status last = replenisher_.last_error();
  const bool next_may_succeed = last.ok() || error_info(last.code()).retry == Retry::again;
  if (event.kind == Kind::untraceable && why.ok() && next_may_succeed) return owner_.touch();
  lease_failed(last);
}

void LeaseSlot::lease_failed(const Status& why) {
  owner_.touch();
  context().scope.note(as_seen_of_store(why));
  if (why.code() == ErrorCode::SEQ_REGRESSED) {
    // Its error says more than this counter, and what to do.
    if (context().scope.refuses()) return;
    owner_.counter_regressed(why);
    context().scope.beat();  // the whole database may be an older copy
    return;
  }
  if (error_info(why.code()).retry == Retry::again) return;
  // The store counts ordinals, of which callers know nothing.
  const IdProgression* const progression = definition_.settings().progression.compiled.get();
  const bool has_progression = progression != nullptr && why.code() == ErrorCode::EXHAUSTED;
  replenisher_.fail_requests(has_progression ? progression->exhausted(definition_.name()) : why);
  owner_.cannot_lease(replenisher_.failing());
}

// The next look-up of the lease that is open, or else the next lease.
void LeaseSlot::put_lease_off(bool contended) {
  const std::int64_t delay_ms = replenisher_.next_delay_ms(contended);
  if (context().refusals.winds_down()) return;
  if (open_ != nullptr) return open_->go_on_after(delay_ms);
  replenisher_.pause(delay_ms, [this] { owner_.touch(); });
}

void LeaseSlot::raise_failed(const LeaseIntended& lease, const std::string& why) {
  context().core.events.raise({EventKind::lease_failed,
                               "no range for \"" + definition_.name() + "\"" + why,
                               {{"SEQUENCE", definition_.name()},
                                {"LEASE", to_hex(lease.lease)},
                                {"COUNT", std::to_string(lease.count)}}});
}

// --- returns

void LeaseSlot::begin_return(const IdRange& range, Reuse reuse, std::int64_t deadline_ms) {
  ASSERT(empty());
  LeaseStore* const store = context().scope.store();
  const Token token = store->new_token(context().core.random, definition_.binding());
  StoreOperation::Owner& owner = *this;
  open_ = std::make_unique<ReturnOperation>(
      context().core, owner, store,
      ReturnOpened{definition_.id(), token, range.begin(), range.end(), reuse,
                   context().core.clock.wall_ms()},
      deadline_ms);
  open_->begin();
}

void LeaseSlot::return_happened(const OperationEvent& event, const ReturnOpened& opened) {
  const std::string& name = definition_.name();
  const std::string range =
      "[" + std::to_string(opened.begin) + ", " + std::to_string(opened.end) + ") of \"" + name;
  if (event.is_over()) return_backoff_ = nullptr;
  if (event.kind == Kind::kept) return owner_.kept(opened, event.cause, event.why);
  if (event.kind == Kind::returned) {
    owner_.returned(opened);
    context().core.events.raise({EventKind::range_returned,
                                 range + "\" was returned to the store",
                                 {{"SEQUENCE", name},
                                  {"FIRST", std::to_string(opened.begin)},
                                  {"COUNT", std::to_string(opened.end - opened.begin)},
                                  {"LEASE", to_hex(opened.token)}}});
    return;
  }
  if (event.restored) return met_older_copy();
  context().core.events.raise({EventKind::return_failed,
                               range + "\" is not returned yet: " + event.why.to_string(),
                               {{"SEQUENCE", name}, {"LEASE", to_hex(opened.token)}}});
  if (return_backoff_ == nullptr) return_backoff_ = std::make_unique<Backoff>();
  if (context().refusals.winds_down()) return;
  Random& random = context().core.random;
  open_->go_on_after(event.contended ? return_backoff_->next_after_conflict_ms(random)
                                     : return_backoff_->next_ms(random));
}

}  // namespace seqd

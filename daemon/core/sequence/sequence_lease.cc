// The part of sequence.h that is about leases: what is open at the store, and what follows from it.
#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/lease_operation.h"
#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {
namespace {

using Kind = OperationEvent::Kind;

// Conflicts in a row that are worth a line in the journal: several seconds of them.
constexpr int kManyConflicts = 50;

// Where this host has leased, the high-water mark knows a counter that was removed.
Status check_counter_kept(const SequenceOwner& table, const Sequence& sequence) {
  return sequence.definition().high_water() > 0 ? Status() : table.check_not_removed(sequence.id());
}

Event failed_event(const std::string& name, const LeaseIntended& lease, const std::string& why) {
  return {
      EventKind::lease_failed,
      "no range for \"" + name + "\"" + why,
      {{"SEQUENCE", name}, {"LEASE", to_hex(lease.lease)}, {"COUNT", std::to_string(lease.count)}}};
}

}  // namespace

// --- for the operation

LeaseRequest Sequence::lease_request() const {
  LeaseRequest request;
  request.binding = definition_.binding();
  request.instance = context_.scope.instance();
  request.sequence = name();
  request.high_water = definition_.high_water();
  request.max_value = settings().last_position();
  request.take_parked = settings().reuse == Reuse::parked;
  request.heartbeat = context_.scope.known_beat();
  return request;
}

bool Sequence::may_ask() const {
  return context_.scope.verified();
}

void Sequence::when_durable(std::function<void()> then) {
  context_.table.when_durable(id(), std::move(then));
}

// As StateImage::check() and its totals. A range that was never leased before lies above all
// others; one that was returned lies where its record says.
Status Sequence::check_grant(std::int64_t begin, std::int64_t end) const {
  // Also now: the host may have been suspended while the request was under way.
  if (Status removed = check_counter_kept(context_.table, *this); !removed.ok()) return removed;
  const auto is_out = [&] {
    if (out_ == 0) return false;
    const std::vector<const Block*> blocks = context_.table.blocks().of(id());
    return std::any_of(blocks.begin(), blocks.end(), [&](const Block* block) {
      return block->granted.begin < end && begin < block->granted.end;
    });
  };
  if (held().has_some_of(begin, end) || is_out()) {
    return {ErrorCode::SEQ_REGRESSED,
            "the store granted the returned range [" + std::to_string(begin) + ", " +
                std::to_string(end) +
                "), of which this host has IDs available: the records of returned ranges were "
                "edited or restored. `seqctl advance NAME --everywhere` drops all of them, and the "
                "sequence continues"};
  }
  if (end - begin > std::numeric_limits<std::int64_t>::max() - totals().leased) {
    return {ErrorCode::STORE_REFUSED, "the store granted " + std::to_string(end - begin) +
                                          " IDs, but " + std::to_string(totals().leased) +
                                          " were leased of \"" + name() +
                                          "\" already: more cannot be counted. Give the "
                                          "sequence another name"};
  }
  return {};
}

void Sequence::happened(const OperationEvent& event) {
  // One that is over is destroyed at the end of this.
  const std::unique_ptr<const StoreOperation> over = event.is_over() ? std::move(open_) : nullptr;
  const StoreOperation& operation = over == nullptr ? *open_ : *over;
  if (const LeaseIntended* const lease = operation.lease()) return lease_happened(event, *lease);
  return_happened(event, *operation.range_return());
}

bool Sequence::fetches() const {
  if (replenisher_.pausing()) return true;
  if (!leasing() || open_->state() == StoreOperation::State::left) return false;
  return open_->in_flight() || !context_.refusals.winds_down();
}

void Sequence::met_older_copy() {
  touch();
  context_.scope.found_restored();
}

// --- leases

void Sequence::begin_lease(std::int64_t demand) {
  ASSERT(open_ == nullptr && !context_.refusals.winds_down() && context_.scope.verified());
  const Status removed = check_counter_kept(context_.table, *this);
  if (!removed.ok()) return cannot_lease(removed);
  const Result<std::int64_t> count =
      replenisher_.next_lease({name(), settings(), held(), out_, demand, totals().issued});
  if (!count.ok()) return cannot_lease(count.status());
  if (*count == 0) return;
  LeaseStore* const store = context_.scope.store();
  LeaseRequest request = lease_request();
  request.token = store->new_token(context_.core.random, request.binding);
  request.count = *count;
  StoreOperation::Owner& owner = *this;
  open_ = std::make_unique<LeaseOperation>(context_.core, owner, store, id(), std::move(request));
  open_->begin();
}

void Sequence::lease_happened(const OperationEvent& event, const LeaseIntended& lease) {
  const Status& why = event.why;
  if (!why.ok()) replenisher_.failed(why);
  if (event.restored) return met_older_copy();
  switch (event.kind) {
    case Kind::granted:
      replenisher_.granted();
      context_.scope.note({});
      return leased(IdRange(event.begin, event.end), lease.lease);
    case Kind::absent:
      return touch();
    case Kind::abandoned:
      issuer_.note_untraceable();
      return replenisher_.abandoned();
    case Kind::unknown:
      if (!context_.refusals.winds_down()) return open_->go_on();
      break;
    case Kind::refused:
      if (!event.contended) {
        context_.core.events.raise(failed_event(name(), lease, ": " + why.to_string()));
        break;
      }
      if (const int conflicts = replenisher_.count_conflict(); conflicts % kManyConflicts == 0)
        context_.core.events.raise(
            failed_event(name(), lease,
                         " after " + std::to_string(conflicts) + " attempts: " + why.to_string()));
      put_lease_off(true);
      touch();
      return context_.scope.note({});
    case Kind::untraceable:
      issuer_.note_untraceable();
      replenisher_.want_nothing();
      if (!why.ok())
        context_.core.events.raise(failed_event(name(), lease, ": " + why.to_string()));
      break;
    default:
      break;
  }
  put_lease_off(false);  // a range may also be lost as fast as the store answers
  // A lease that was lost had failed first. Requests fail if the next one will, too.
  const Status last = replenisher_.last_error();
  const bool may_pass = last.ok() || error_info(last.code()).retry == Retry::again;
  if (event.kind == Kind::untraceable && why.ok() && may_pass) return touch();
  lease_failed(last);
}

void Sequence::leased(IdRange range, const Token& lease) {
  definition_.set_high_water(std::max(definition_.high_water(), range.end()));
  exhaustion_.leased(range.end(), context_.core.clock.monotonic_ms(), name(), settings(),
                     context_.core.events);
  issuer_.note_leased(std::move(range), lease);
  withdraw();
  touch();
}

void Sequence::lease_failed(const Status& why) {
  touch();
  context_.scope.note(as_seen_of_store(why));
  if (why.code() == ErrorCode::SEQ_REGRESSED) {
    if (context_.scope.refuses()) return;  // that error says more than this counter, and what to do
    counter_regressed(why);
    context_.scope.beat();  // the whole database may be an older copy
    return;
  }
  if (error_info(why.code()).retry == Retry::again) return;
  // The store counts ordinals, of which callers know nothing.
  const IdProgression* const progression = settings().progression.compiled.get();
  const bool has_progression = progression != nullptr && why.code() == ErrorCode::EXHAUSTED;
  replenisher_.fail_requests(has_progression ? progression->exhausted(name()) : why);
  cannot_lease(replenisher_.failing());
}

void Sequence::cannot_lease(const Status& why) {
  if (!waiters_.empty()) end_blocks();  // they may have enough
  waiters_.fail_unserved(why, available());
}

// The next look-up of the lease that is open, or else the next lease.
void Sequence::put_lease_off(bool contended) {
  const std::int64_t delay_ms = replenisher_.next_delay_ms(contended);
  if (context_.refusals.winds_down()) return;
  if (open_ != nullptr) return open_->go_on_after(delay_ms);
  replenisher_.pause(delay_ms, [this] { touch(); });
}

}  // namespace seqd

// LeaseSlot: what a sequence has open at its store: nothing, a lease, or the return of a range;
// never two (see StoreOperation). It makes the requests, retries them while the outcome is unknown,
// writes failures to the journal, and reports results to its owner. Owned by its Sequence; loop
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/backoff.h"
#include "daemon/core/leasing/store_operation.h"
#include "daemon/core/log/state_image.h"
#include "daemon/core/sequence/issuer.h"
#include "daemon/core/sequence/replenisher.h"
#include "daemon/core/sequence/sequence_definition.h"

namespace seqd {

class LeaseSlot final : private StoreOperation::Owner {
 public:
  // The sequence. The log has what happened already.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The range was leased.
    virtual void leased(IdRange range, const Token& lease) = 0;
    // The next leases will fail in the same way.
    virtual void cannot_lease(const Status& why) = 0;
    // The counter was set back.
    virtual void counter_regressed(const Status& why) = 0;
    // The range of a return is the store's again, or it is a gap.
    virtual void returned(const ReturnOpened& opened) = 0;
    virtual void kept(const ReturnOpened& opened, GapCause cause, const Status& why) = 0;
    // Something else has changed: the end of this turn decides what follows.
    virtual void touch() = 0;
  };

  // All of them outlive this.
  LeaseSlot(const SequenceDefinition& definition, Issuer& issuer, Replenisher& replenisher,
            Owner& owner)
      : definition_(definition), issuer_(issuer), replenisher_(replenisher), owner_(owner) {}

  // Nothing is open.
  bool empty() const { return open_ == nullptr; }
  // What is open is with the log or the store.
  bool in_flight() const { return open_ != nullptr && open_->in_flight(); }
  // A lease is open, and its record; null: none is.
  bool leasing() const { return open_lease() != nullptr; }
  const LeaseIntended* open_lease() const { return empty() ? nullptr : open_->lease(); }
  // The return that is open, or was when the daemon last ended, and its IDs.
  std::optional<ReturnOpened> open_return() const;
  std::int64_t returning() const;
  // A lease is under way or put off.
  bool fetches() const;

  // The counter of a sequence that has leased nothing yet may be gone: SEQ_REGRESSED.
  Status check_counter_kept() const;
  // Leases so many IDs. The slot is empty, and the store may be called.
  void begin_lease(std::int64_t count);
  // Returns a range that is not available any more. From `deadline_ms` on it gives up.
  void begin_return(const IdRange& range, Reuse reuse, std::int64_t deadline_ms);

  // What the last process left open.
  void restore(const SequenceImage& image);
  // Takes that up, once the store may be called.
  void adopt();
  // Asks again, if that is due.
  void go_on();
  // No try follows; what is in flight may still be answered.
  void stop();
  // Ends it without the store, unless it is in flight.
  void abandon(GapCause cause, const std::string& why);

 private:
  LeaseRequest lease_request() const override;
  bool may_ask() const override;
  void when_durable(std::function<void()> then) override;
  Status check_grant(std::int64_t begin, std::int64_t end) const override;
  void happened(const OperationEvent& event) override;

  const SequenceContext& context() const { return definition_.context(); }
  void lease_happened(const OperationEvent& event, const LeaseIntended& lease);
  void return_happened(const OperationEvent& event, const ReturnOpened& opened);
  void lease_failed(const Status& why);
  void put_lease_off(bool contended);
  void met_older_copy();
  void raise_failed(const LeaseIntended& lease, const std::string& why);

  const SequenceDefinition& definition_;
  Issuer& issuer_;
  Replenisher& replenisher_;
  Owner& owner_;
  std::unique_ptr<StoreOperation> open_;     // null: nothing is
  std::unique_ptr<Backoff> return_backoff_;  // of the open return, once it has failed
};

}  // namespace seqd

// The epochs of the daemons that use a DynamoDB store: an item each, in a table of their own or in
// one of the counters'. A claim is one conditional update; of any number of copies of one state
// directory, one wins. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "daemon/store/dynamo/wire/dynamo_plan.h"

namespace seqd {

struct DynamoInstances {
  std::string table;
  std::string key_field;
};

DynamoKey instance_key(const DynamoInstances& instances, const std::string& digits);
// Of the item that has the identity of the database.
DynamoKey identity_key(const DynamoInstances& instances);

// Marks that records of the instance's leases were removed, if it is there.
DynamoUpdate note_swept(const DynamoInstances& instances, const std::string& digits,
                        std::int64_t wall_ms);
// Whether the instance made its epoch in this store and no record of it was ever removed: then a
// record that is not there was never made.
bool has_all_records(const std::optional<DynamoItem>& instance);

// Whether the tables are an older copy than what the instance knows; 0: there is no heartbeat to
// compare, and `done` is called at once.
void compare_heartbeat(const std::shared_ptr<DynamoClient>& client,
                       const DynamoInstances& instances, const Token& instance,
                       std::int64_t heartbeat,
                       const std::function<void(const Status& error, bool restored)>& done);

bool is_claimed(const std::optional<DynamoItem>& instance);
// Takes the epoch away, and all else but the key: no claim of the instance is ever won again.
DynamoUpdate without_claim(const DynamoInstances& instances, const std::string& digits);

// A plan that reads and updates one item.
template <typename Answer>
class DynamoItemPlan : public DynamoPlan<Answer> {
 public:
  typename DynamoPlan<Answer>::Step begin() override { return key_; }

 protected:
  explicit DynamoItemPlan(DynamoKey key) : key_(std::move(key)) {}
  const DynamoKey key_;
  int attempts_ = 0;
};

// The heartbeat of an instance, compared and raised; see daemon/core/leasing/heartbeat.h.
class DynamoBeat final : public DynamoItemPlan<Result<BeatOutcome>> {
 public:
  DynamoBeat(const DynamoInstances& instances, const BeatRequest& request, std::int64_t wall_ms)
      : DynamoItemPlan(instance_key(instances, to_hex(request.instance))),
        request_(request),
        wall_ms_(wall_ms) {}

  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  const BeatRequest request_;
  const std::int64_t wall_ms_;
};

// The identity of the database: an item beside those of the instances. `candidate` where it has
// none yet.
class DynamoIdentity final : public DynamoItemPlan<Result<Token>> {
 public:
  DynamoIdentity(const DynamoInstances& instances, const Token& candidate, std::string where)
      : DynamoItemPlan(identity_key(instances)), candidate_(candidate), where_(std::move(where)) {}

  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  const Token candidate_;
  const std::string where_;
};

class DynamoClaim final : public DynamoItemPlan<Result<ClaimOutcome>> {
 public:
  DynamoClaim(const DynamoInstances& instances, const ClaimRequest& request, std::int64_t wall_ms)
      : DynamoItemPlan(instance_key(instances, to_hex(request.instance))),
        request_(request),
        wall_ms_(wall_ms) {}

  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_update(DynamoAnswer answer) override;

 private:
  const ClaimRequest request_;
  const std::int64_t wall_ms_;
};

}  // namespace seqd

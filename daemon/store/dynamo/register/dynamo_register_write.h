// DynamoRegisterWrite: one write to a register, as a plan. Changes that follow each other and touch
// different items are one transaction, applied as a whole or not at all
// (dynamo_register_changes.h). Where it is cancelled, the reasons say which change did not fit:
// those before it are then sent without it. Loop thread; refers to the random numbers, which
// outlive it.
//
// Invariant: `changed`, `failed` and `refused` only where the service said that it applied nothing;
// what has no answer is `unknown`, and nothing is sent behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/random.h"
#include "daemon/store/dynamo/register/dynamo_register_items.h"
#include "daemon/store/dynamo/wire/dynamo_plan.h"

namespace seqd {

class DynamoRegisterWrite final : public DynamoPlan<RegisterOutcome> {
 public:
  DynamoRegisterWrite(RegisterWrite write, std::string where, Random& random)
      : write_(std::move(write)),
        where_(std::move(where)),
        items_(write_.place, where_),
        random_(random),
        limit_(write_.changes.size()) {}

  Step begin() override { return next(); }
  // The records that are cancelled, and what is free; or what is looked at again.
  Step after_items(Result<DynamoItems> items) override;
  Step after_transaction(DynamoAnswer answer) override;

 private:
  // An update of a transaction, and the first change that it is for.
  struct Part {
    DynamoUpdate update;
    std::size_t change;
    bool is_mark;
  };
  struct Batch;

  Step next();
  std::size_t end_of_batch() const;
  // Nothing from that change on is applied: the write ends so, behind those before it.
  void stop_before(std::size_t change, RegisterOutcome::Kind kind, Status error);
  void judge_cancel(std::size_t change, const DynamoItems& items);
  Step send();
  void add_parts(std::size_t change);
  void add(std::size_t change, DynamoUpdate update, bool is_mark = false);
  void judge_reasons(const DynamoAnswer& answer);
  void verify_number(const DynamoItems& items);

  const RegisterWrite write_;
  const std::string where_;
  const DynamoRegisterItems items_;
  Random& random_;
  std::size_t done_ = 0;
  std::size_t limit_;  // no change from this one on is applied
  RegisterOutcome outcome_{RegisterOutcome::Kind::all, 0, {}};  // behind these
  std::size_t end_ = 0;                                         // of the batch
  std::map<std::size_t, NumberRecord> cancelled_;               // as they were read, by the change
  std::vector<Part> parts_;
  bool verifies_ = false;  // the number of an add was there, and the period did not say so
  int conflicts_ = 0;
};

}  // namespace seqd

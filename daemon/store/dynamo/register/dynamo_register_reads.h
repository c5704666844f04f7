// Reads of a register, as plans. DynamoRegisterRead: what a host decides by. The order is a rule of
// tests/model/register.pml: the highest number and what is free first, then the keys; and these in
// transactions (dynamo_batch.h), so that a key is never older than the highest. All else may be
// older: a change that was decided by it is refused. DynamoRegisterPage: the numbers of a period
// one after another, as there are no holes among them. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/dynamo/register/dynamo_register_items.h"
#include "daemon/store/dynamo/wire/dynamo_plan.h"

namespace seqd {

class DynamoRegisterRead final : public DynamoPlan<Result<RegisterReading>> {
 public:
  DynamoRegisterRead(RegisterQuery query, std::string where)
      : query_(std::move(query)), items_(query_.place, std::move(where)) {}

  Step begin() override { return items_.period(); }
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_items(Result<DynamoItems> items) override;

 private:
  enum class Phase : std::uint8_t { period, free, free_numbers, keys, numbers, keys_again };

  Step after_period(const std::optional<DynamoItem>& item);
  Step after_free(const std::optional<DynamoItem>& item);
  void take_free(const DynamoItems& items);
  Step ask_keys();
  void take_keys(const DynamoItems& items);
  Step ask_numbers();
  void take_numbers(const DynamoItems& items);
  void take_number_of(const std::string& key, const DynamoItems& items);
  Step ask_again();
  void take_again(const DynamoItems& items);
  Step end();
  bool is_closed(const std::string& period) const {
    return period_.closed && period == query_.place.period;
  }
  void refuse(const std::string& key, std::int64_t number, const Status& why) {
    reading_.unreadable.push_back({number, key, why});
  }

  const RegisterQuery query_;
  const DynamoRegisterItems items_;
  Phase phase_ = Phase::period;
  DynamoPeriod period_;
  std::vector<std::int64_t> free_;               // as the index of them says
  std::map<std::string, DynamoOwned> owned_;     // the numbers of keys
  std::map<std::string, NumberRecord> of_keys_;  // the records of these
  std::set<std::string> doubtful_;               // keys whose number did not have them
  RegisterReading reading_;
};

class DynamoRegisterPage final : public DynamoPlan<Result<std::vector<NumberRecord>>> {
 public:
  DynamoRegisterPage(RegisterPageQuery query, std::string where)
      : query_(std::move(query)), items_(query_.place, std::move(where)) {}

  Step begin() override { return items_.period(); }
  Step after_read(Result<std::optional<DynamoItem>> item) override;
  Step after_items(Result<DynamoItems> items) override;

 private:
  Step next();

  const RegisterPageQuery query_;
  const DynamoRegisterItems items_;
  bool has_period_ = false;
  DynamoPeriod period_;
  std::vector<std::int64_t> free_;   // what is left of them, where only these are asked for
  std::int64_t next_ = 0;            // else the next number
  std::vector<std::int64_t> asked_;  // for
  std::vector<NumberRecord> records_;
};

}  // namespace seqd

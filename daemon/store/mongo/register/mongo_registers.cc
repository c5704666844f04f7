// The registers of a MongoStore: a part of mongo_store.h.
#include <utility>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/mongo_store.h"
#include "daemon/store/mongo/register/mongo_register.h"
#include "daemon/store/mongo/register/mongo_register_format.h"
#include "daemon/store/mongo/register/mongo_register_write.h"

namespace seqd {

Status MongoStore::check_register(const RegisterPlace& place) {
  CounterBinding binding = place.binding;
  binding.key = mongo_register_name(place);
  return check_mongo_binding(binding);
}

// Behind the reads: what an older copy says is no answer, whenever it was put in place. Nobody says
// that a period is closed before its close is complete.
Result<RegisterReading> MongoStore::read_register(const RegisterQuery& query) {
  if (Status status = check_register(query.place); !status.ok()) return status;
  MongoRegister numbers(*clients_, query.place);
  auto reading = numbers.read(query);
  bool restored = false;
  Status age = check_age(query.place.instance, query.place.heartbeat, &restored);
  if (!age.ok()) return age;
  if (!reading.ok() || !numbers.has_to_finish()) return reading;
  Status status = numbers.finish_close();
  return status.ok() ? std::move(reading) : status;
}

Result<std::vector<NumberRecord>> MongoStore::list_register(const RegisterPageQuery& query) {
  if (Status status = check_register(query.place); !status.ok()) return status;
  auto records = MongoRegister(*clients_, query.place).page(query);
  bool restored = false;
  Status age = check_age(query.place.instance, query.place.heartbeat, &restored);
  return age.ok() ? std::move(records) : age;
}

// Before the write, so that an older copy stays as it is; and behind it, as it may have been put in
// place meanwhile. What was written is not answered then.
RegisterOutcome MongoStore::write_register(const RegisterWrite& write) {
  using Kind = RegisterOutcome::Kind;
  if (Status status = check_register(write.place); !status.ok())
    return {Kind::failed, 0, std::move(status)};
  bool restored = false;
  Status age = check_age(write.place.instance, write.place.heartbeat, &restored);
  if (!age.ok()) return {Kind::failed, 0, std::move(age)};
  RegisterOutcome outcome = MongoRegisterWrite(*clients_, write).run();
  if (outcome.done == 0) return outcome;
  age = check_age(write.place.instance, write.place.heartbeat, &restored);
  return age.ok() ? std::move(outcome) : RegisterOutcome{Kind::unknown, 0, std::move(age)};
}

}  // namespace seqd

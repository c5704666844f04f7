// The registers of a SqliteStore: a part of sqlite_store.h. Each call is one transaction, so the
// order in which it reads does not matter.
#include <utility>

#include "daemon/store/sqlite/sqlite_register.h"
#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

// Also to read: what an older copy says of a key is no answer.
Status SqliteStore::begin_register(const RegisterPlace& place) {
  const OlderCopy older = place.takes_older ? OlderCopy::used : OlderCopy::refused;
  if (Status status = begin_change(older); !status.ok()) return status;
  bool restored = false;
  Status status = check_age(place.instance, place.heartbeat, &restored);
  if (!status.ok()) roll_back();
  return status;
}

Result<RegisterReading> SqliteStore::read_register(const RegisterQuery& query) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin_register(query.place); !status.ok()) return status;
  auto reading = SqliteRegister(*connection_, query.place).read(query);
  roll_back();
  return reading;
}

Result<std::vector<NumberRecord>> SqliteStore::list_register(const RegisterPageQuery& query) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin_register(query.place); !status.ok()) return status;
  auto records = SqliteRegister(*connection_, query.place).page(query);
  roll_back();
  return records;
}

RegisterOutcome SqliteStore::write_register(const RegisterWrite& write) {
  using Kind = RegisterOutcome::Kind;
  const std::lock_guard lock(mutex_);
  if (Status status = begin_register(write.place); !status.ok())
    return {Kind::failed, 0, std::move(status)};
  SqliteRegister records(*connection_, write.place);
  RegisterOutcome outcome{Kind::all, 0, {}};
  while (outcome.done < write.changes.size()) {
    const Result<bool> applied = records.apply(write.changes[outcome.done]);
    if (!applied.ok()) {
      roll_back();
      return {Kind::failed, 0, applied.status()};
    }
    if (!*applied) {
      outcome.kind = Kind::changed;
      break;
    }
    ++outcome.done;
  }
  if (outcome.done == 0) {
    roll_back();
    return outcome;
  }
  bool maybe_applied = false;
  Status status = commit(&maybe_applied);
  if (status.ok()) return outcome;
  roll_back();
  return {maybe_applied ? Kind::unknown : Kind::failed, 0, std::move(status)};
}

}  // namespace seqd

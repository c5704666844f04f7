// How a SqliteStore forgets an instance: a part of sqlite_store.h.
//
// A call of this store ends before the next one begins, and with its process, so no request of the
// instance can arrive later.
#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {
namespace {

// The sums stay, in a row that names nobody: the counter has moved by them, and audits of others
// compare the two.
constexpr char kKeepTotals[] =
    "INSERT INTO total(name, instance, since, leases, ids) SELECT name, zeroblob(16), since, "
    "leases, ids FROM total WHERE instance = ?1 ON CONFLICT(name, instance) DO UPDATE SET since = "
    "min(since, excluded.since), leases = leases + excluded.leases, ids = ids + excluded.ids";

constexpr const char* kForget[] = {
    // A mark of who took a range is needed for as long as that lease can be asked for.
    "DELETE FROM parked WHERE taken IN (SELECT token FROM lease WHERE instance = ?1)",
    "DELETE FROM lease WHERE instance = ?1",
    kKeepTotals,
    "DELETE FROM total WHERE instance = ?1",
    "DELETE FROM instance WHERE id = ?1",
};

constexpr char kLook[] =
    "SELECT (SELECT count(*) FROM instance WHERE id = ?1), "
    "(SELECT count(*) FROM lease WHERE instance = ?1)";

}  // namespace

Result<InstanceRecords> SqliteStore::forget(const ForgetRequest& request) {
  const std::lock_guard lock(mutex_);
  if (Status status = begin(); !status.ok()) return status;
  auto records = forget_in_transaction(request);
  if (!records.ok() || request.only_look || !request.entry) {
    abandon();
    return records;
  }
  bool maybe_applied = false;
  if (Status status = commit(&maybe_applied); !status.ok()) {
    abandon();
    return status;
  }
  return records;
}

// All of it is one transaction, with the last request: those before it only look.
Result<InstanceRecords> SqliteStore::forget_in_transaction(const ForgetRequest& request) {
  InstanceRecords records;
  if (!request.entry) return records;
  {
    auto look = connection_->prepare(kLook);
    if (!look.ok()) return look.status();
    SqliteQuery query(*look);
    query.bind_blob(1, request.instance.data(), request.instance.size());
    if (query.step() != SQLITE_ROW) return connection_->error();
    records.entry = query.integer(0) > 0;
    records.records = query.integer(1);
  }
  if (request.only_look) return records;
  for (const char* sql : kForget) {
    auto statement = connection_->prepare(sql);
    if (!statement.ok()) return statement.status();
    SqliteQuery query(*statement);
    query.bind_blob(1, request.instance.data(), request.instance.size());
    if (query.step() != SQLITE_DONE) return connection_->error();
  }
  return records;
}

}  // namespace seqd

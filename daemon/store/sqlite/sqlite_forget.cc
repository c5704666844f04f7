// How a SqliteStore forgets an instance, and what stays of one that is left behind: a part of
// sqlite_store.h.
//
// A call of this store ends before the next one begins, and with its process, so no request of the
// instance can arrive later.
#include "daemon/store/sqlite/sqlite_change.h"

namespace seqd {
namespace {

// The sums stay, in a row without an instance: the counter has moved by them, and audits of other
// hosts compare the two.
constexpr char kKeepTotals[] =
    "INSERT INTO total(name, instance, since, leases, ids) SELECT name, zeroblob(16), since, "
    "leases, ids FROM total WHERE instance = ?1 ON CONFLICT(name, instance) DO UPDATE SET since = "
    "min(since, excluded.since), leases = leases + excluded.leases, ids = ids + excluded.ids";

constexpr const char* kForget[] = {
    // The mark of the lease that took a range is needed as long as that lease can be looked up.
    "DELETE FROM parked WHERE taken IN (SELECT token FROM lease WHERE instance = ?1)",
    "DELETE FROM lease WHERE instance = ?1",
    kKeepTotals,
    "DELETE FROM total WHERE instance = ?1",
    "DELETE FROM instance WHERE id = ?1",
};

// The instance that calls this the past may be a copy whose original is still running and may look
// up an open lease or return of each of its sequences. So the newest 4 records of each sequence
// stay, and all records that name no sequence. To limit the file, each key that this instance
// leased keeps the records of the 256 instances that leased there last; the totals of the others
// are added to the row of no instance. The instance's row and its heartbeat stay.
constexpr const char* kLeaveBehind[] = {
    "DELETE FROM lease WHERE ordinal IN (SELECT ordinal FROM (SELECT ordinal, row_number() OVER "
    "(PARTITION BY name, sequence ORDER BY ordinal DESC) AS place FROM lease WHERE instance = ?1 "
    "AND sequence IS NOT NULL) WHERE place > 4)",
    "DELETE FROM lease WHERE (instance, name) IN (SELECT instance, name FROM (SELECT instance, "
    "name, row_number() OVER (PARTITION BY name ORDER BY max(ordinal) DESC) AS place FROM lease "
    "WHERE name IN (SELECT name FROM lease WHERE instance = ?1) GROUP BY instance, name) WHERE "
    "place > 256)",
    "DELETE FROM parked WHERE taken IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lease WHERE "
    "lease.token = parked.taken) AND ?1 IS NOT NULL",
    "INSERT INTO total(name, instance, since, leases, ids) SELECT name, zeroblob(16), since, "
    "leases, ids FROM total WHERE instance <> zeroblob(16) AND NOT EXISTS (SELECT 1 FROM lease "
    "WHERE lease.instance = total.instance AND lease.name = total.name) AND ?1 IS NOT NULL ON "
    "CONFLICT(name, instance) DO UPDATE SET since = min(since, excluded.since), leases = leases + "
    "excluded.leases, ids = ids + excluded.ids",
    "DELETE FROM total WHERE instance <> zeroblob(16) AND NOT EXISTS (SELECT 1 FROM lease WHERE "
    "lease.instance = total.instance AND lease.name = total.name) AND ?1 IS NOT NULL",
};

constexpr char kLook[] =
    "SELECT (SELECT count(*) FROM instance WHERE id = ?1), "
    "(SELECT count(*) FROM lease WHERE instance = ?1)";

}  // namespace

Result<InstanceRecords> SqliteStore::forget(const ForgetRequest& request) {
  return change(
      OlderCopy::used, [&] { return forget_in_transaction(request); },
      [&](const InstanceRecords&) { return !request.only_look && request.entry; });
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
    if (Status status = run_for(sql, request.instance); !status.ok()) return status;
  }
  return records;
}

// No request waits for it: if it fails, the next such start does it.
void SqliteStore::abandoned(const Token& instance) {
  const std::lock_guard lock(mutex_);
  Status status = begin_change();
  if (!status.ok()) return;
  for (const char* sql : kLeaveBehind) {
    if (status.ok()) status = run_for(sql, instance);
  }
  bool maybe_applied = false;
  if (status.ok()) status = commit(&maybe_applied);
  if (!status.ok()) roll_back();
}

Status SqliteStore::run_for(const char* sql, const Token& instance) {
  auto statement = connection_->prepare(sql);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  query.bind_blob(1, instance.data(), instance.size());
  return query.step() == SQLITE_DONE ? Status() : connection_->error();
}

}  // namespace seqd

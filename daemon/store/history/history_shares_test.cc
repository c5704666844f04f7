// One user does not push what others did out of a history that is full.
#include "daemon/store/history/history_file.h"
#include "daemon/store/history/history_pruning.h"
#include "tests/adapters/sqlite/kept_history.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

// A file of one MiB, in which one user has a hundred issues below 304.
void keep_payroll(KeptHistory& kept) {
  kept.limits.size = std::int64_t{1} << 20;
  HistoryRows payroll(1);
  payroll.lease(1, 1'000'001);
  for (std::int64_t id = 1; id <= 301; id += 3) payroll.issue(id, id + 3, 1);
  REQUIRE(kept.write(payroll).ok());
}

void write_of_another(KeptHistory& kept, HistoryRows& batch) {
  for (HistoryCaller& each : batch.callers) each.uid = 1'001;
  REQUIRE(kept.write(batch).ok());
  const Result<std::int64_t> size = history_used_bytes(kept.opened->database);
  REQUIRE(size.ok());
  CHECK(*size <= kept.limits.size);
}

// Twelve minutes of requests for many names do not take from others what is theirs.
TEST_CASE("OneUserDoesNotPushOutTheHistoryOfTheOthers") {
  KeptHistory kept;
  keep_payroll(kept);
  std::int64_t id = 1'000;
  LogPosition position = 2;
  for (CallerNumber caller = 10; caller < 50; ++caller) {  // a process each
    HistoryRows batch(position++);
    for (int at = 0; at < 2'000; ++at, id += 3) batch.issue(id, id + 2, caller);
    write_of_another(kept, batch);
  }
  for (const std::int64_t mine : {1, 23, 300}) {
    const IdAnswer answer = kept.id(mine);
    REQUIRE(answer.issue);
    REQUIRE(answer.issue->callers.size() == 1);
    CHECK(answer.issue->callers[0].uid == 1'000);
    CHECK(answer.lease);
  }
  CHECK_FALSE(kept.id(1'000).issue);
  CHECK(kept.id(id - 3).issue);
  CHECK(rows(kept, "caller") < 40);
  const SumsAnswer sums = kept.sums();
  CHECK(sums.rows.issued + sums.dropped.issued == sums.recorded.issued);
}

TEST_CASE("LeasesOfOneUserDoNotPushOutTheIssuesOfTheOthers") {
  KeptHistory kept;
  keep_payroll(kept);
  std::int64_t id = 1'000;
  LogPosition position = 2;
  for (int round = 0; round < 40; ++round) {
    HistoryRows batch(position++);
    for (int at = 0; at < 2'000; ++at, id += 3) batch.lease(id, id + 3).issue(id, id + 1, 2);
    write_of_another(kept, batch);
  }
  for (const std::int64_t mine : {1, 23, 300}) CHECK(kept.id(mine).issue);
  CHECK_FALSE(kept.id(1'000).issue);
  CHECK((kept.id(id - 3).issue && kept.id(id - 3).lease));
  const SumsAnswer sums = kept.sums();
  CHECK(sums.rows.issued + sums.dropped.issued == sums.recorded.issued);
  CHECK(sums.rows.leased + sums.dropped.leased == sums.recorded.leased);
}

// Consecutive IDs of one caller are one issue, so leases alone can be many.
TEST_CASE("LeasesDoNotPushOutTheIssuesOfUsersWhoFilledTheFile") {
  KeptHistory kept;
  kept.limits.size = std::int64_t{1} << 20;
  std::int64_t id = 1;
  LogPosition position = 1;
  for (CallerNumber caller = 10; caller < 13; ++caller) {
    HistoryRows batch(position++);
    for (int at = 0; at < 3'000; ++at, id += 3) batch.issue(id, id + 1, caller);
    for (HistoryCaller& each : batch.callers) each.uid = 1'000 + static_cast<std::uint32_t>(caller);
    REQUIRE(kept.write(batch).ok());
  }
  for (int round = 0; round < 30; ++round) {
    HistoryRows batch(position++);
    for (int at = 0; at < 1'000; ++at, id += 3) batch.lease(id, id + 3);
    REQUIRE(kept.write(batch).ok());
  }
  CHECK(rows(kept, "span") == 9'000);
  CHECK(kept.id(id - 3).lease);
}

}  // namespace
}  // namespace seqd

// The contract of every store: heartbeats, by which a database is noticed that was put back from an
// older copy (daemon/core/leasing/heartbeat.h). Here the copy is an instance whose heartbeat is
// below the one that a daemon knows; tests/integration/stores/test_restore.py has databases that
// are really put back.
#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;

BeatOutcome must(const Result<BeatOutcome>& outcome) {
  INFO(outcome.status().to_string());
  REQUIRE(outcome.ok());
  return *outcome;
}

// An instance with an entry in the store.
template <typename Store>
Token claimed(Store& store) {
  const Token instance = random_token();
  const auto won = store.claim({instance, 0, random_token()});
  REQUIRE(won.ok());
  REQUIRE(*won == ClaimOutcome::won);
  return instance;
}

STORE_TEST("a heartbeat is raised and never lowered, however late a request arrives") {
  TestType fixture;
  auto store = fixture.open();
  const Token instance = claimed(*store);
  for (std::int64_t known = 0; known < 3; ++known) {
    const BeatOutcome raised = must(store->beat({instance, known, true}));
    REQUIRE_FALSE(raised.older);
    REQUIRE(raised.beat == known + 1);
  }
  REQUIRE(must(store->beat({instance, 1, true})).beat == 3);
  const BeatOutcome looked = must(store->beat({instance, 3, false}));
  REQUIRE((looked.beat == 3 && !looked.older));
  // The daemon was killed before it could note the newest one.
  REQUIRE(must(store->beat({instance, 2, true})).beat == 3);
  REQUIRE(must(store->beat({instance, 3, true})).beat == 4);
  // It is no epoch, and a claim leaves it.
  const auto claim = store->claim({instance, 1, random_token()});
  REQUIRE((claim.ok() && *claim == ClaimOutcome::won));
  REQUIRE(must(store->beat({instance, 4, false})).beat == 4);
}

STORE_TEST("a heartbeat that is lower than the known one, or gone, is an older copy") {
  TestType fixture;
  auto store = fixture.open();
  const Token instance = claimed(*store);
  REQUIRE(must(store->beat({instance, 0, true})).beat == 1);
  for (const bool raise : {false, true}) {
    const BeatOutcome older = must(store->beat({instance, 2, raise}));
    REQUIRE(older.older);
    REQUIRE(older.beat == 1);
    const BeatOutcome gone = must(store->beat({random_token(), 5, raise}));
    REQUIRE(gone.older);
    REQUIRE(gone.beat == 0);
  }
  REQUIRE(must(store->beat({instance, 1, false})).beat == 1);
  // An instance without an entry has no heartbeat.
  const Token stranger = random_token();
  REQUIRE(must(store->beat({stranger, 0, true})).beat == 0);
  REQUIRE(must(store->beat({stranger, 0, false})).beat == 0);
}

STORE_TEST("an older copy grants nothing and takes nothing back") {
  TestType fixture;
  auto store = fixture.open();
  const Token instance = claimed(*store);
  REQUIRE(must(store->beat({instance, 0, true})).beat == 1);
  LeaseRequest lease = lease_request("orders", 10, TestType::kTrace);
  lease.instance = instance;
  lease.heartbeat = 1;
  require_granted(store->lease(lease), 1, 11);
  LeaseRequest next = lease;
  next.token = random_token(TestType::kTrace);
  next.heartbeat = 2;
  const LeaseOutcome outcome = store->lease(next);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind != LeaseOutcome::Kind::granted);
  REQUIRE(outcome.restored);
  REQUIRE(error_name(outcome.error.code()) == error_name(ErrorCode::SEQ_REGRESSED));
  if (!TestType::kTracesTokens) return;
  // Nor does the look-up of a lease that the copy knows.
  next.token = random_token(TestType::kTrace);
  next.heartbeat = 1;
  const LeaseOutcome applied = store->lease(next);
  REQUIRE(applied.kind == LeaseOutcome::Kind::granted);
  next.heartbeat = 2;
  const Resolution found = store->resolve(next);
  INFO(found.error.to_string());
  REQUIRE(found.kind == Resolution::Kind::failed);
  REQUIRE(found.restored);
  REQUIRE(error_name(found.error.code()) == error_name(ErrorCode::SEQ_REGRESSED));
  // Nor does it say of one that it does not know that it was not applied, or make it void.
  LeaseRequest unknown = next;
  unknown.token = random_token(TestType::kTrace);
  const Resolution absent = store->resolve(unknown);
  INFO(absent.error.to_string());
  REQUIRE(absent.kind == Resolution::Kind::failed);
  REQUIRE(absent.restored);
  next.heartbeat = 1;
  const Resolution same = store->resolve(next);
  REQUIRE(same.kind == Resolution::Kind::granted);
  REQUIRE(same.begin == applied.begin);
  const std::int64_t before = fixture.value("orders");
  ReturnRequest back = return_of(lease, 4, 11, Reuse::tail, TestType::kTrace);
  back.heartbeat = 2;
  // Also where it would make the token void, and the return be a gap.
  for (const bool give_up : {false, true}) {
    back.give_up = give_up;
    const ReturnOutcome older = store->return_range(back);
    INFO(older.error.to_string());
    REQUIRE(older.kind == ReturnOutcome::Kind::failed);
    REQUIRE(older.restored);
    REQUIRE(fixture.value("orders") == before);
  }
}

STORE_TEST("the heartbeat of an instance that is forgotten stays") {
  TestType fixture;
  auto store = fixture.open();
  const Token instance = claimed(*store);
  REQUIRE(must(store->beat({instance, 0, true})).beat == 1);
  ForgetRequest request;
  request.instance = instance;
  const auto forgotten = store->forget(request);
  REQUIRE((forgotten.ok() && forgotten->entry));
  REQUIRE_FALSE(must(store->beat({instance, 1, false})).older);
  REQUIRE(must(store->beat({instance, 1, true})).beat == 1);
  const auto again = store->forget(request);
  REQUIRE((again.ok() && !again->entry));
  const auto claim = store->claim({instance, 1, random_token()});
  REQUIRE((claim.ok() && *claim == ClaimOutcome::lost));
}

}  // namespace
}  // namespace seqd

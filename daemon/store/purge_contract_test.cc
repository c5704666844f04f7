// The contract of the stores whose counters can be looked for and removed.
#include <string>
#include <vector>

#include "tests/adapters/store_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = RemovalOutcome::Kind;
using Keys = std::vector<std::string>;

#define PURGE_TEST(name)                                                                    \
  TEMPLATE_TEST_CASE("Purge: " name, "[store][purge]", testing::SqliteFixture,              \
                     testing::MongoAloneFixture, testing::MongoReplicaSetFixture,           \
                     testing::MongoAlonePlainFixture, testing::MongoReplicaSetPlainFixture, \
                     testing::MongoReplicaSetSlotFixture)

CounterQuery query_of(const std::string& after = "", std::size_t limit = 100) {
  CounterQuery query;
  query.binding = lease_request("", 1).binding;
  query.form = {"orders@", 6, ""};
  query.after = after;
  query.limit = limit;
  return query;
}

CounterPage must(const Result<CounterPage>& page) {
  INFO(page.status().to_string());
  REQUIRE(page.ok());
  return *page;
}

Keys keys_of(const CounterPage& page) {
  Keys out;
  for (const FoundCounter& counter : page.counters) out.push_back(counter.key);
  return out;
}

template <typename Store>
CounterPage found_in(Store& store) {
  return must(store->find_counters(query_of()));
}

template <typename Store>
std::vector<Kind> remove(Store& store, const std::vector<FoundCounter>& counters) {
  std::vector<Kind> out;
  for (const RemovalOutcome& outcome : store->remove_counters({query_of().binding, counters})) {
    INFO(outcome.error.to_string());
    CHECK(outcome.kind != Kind::failed);
    out.push_back(outcome.kind);
  }
  return out;
}

PURGE_TEST("counters are found by the form of their keys, in order, with their numbers") {
  TestType fixture;
  auto store = fixture.open();
  CHECK(found_in(store).counters.empty());
  for (const char* key : {"orders@251102", "orders@251101", "orders@xyz@!1"})
    fixture.put(key, 41, Meaning::last);
  fixture.put("orders@251103", 41, Meaning::next);
  fixture.put("orders@251104", 0, Meaning::last);
  for (const char* foreign : {"orders", "orders@", "orders@25110", "orders@2511010",
                              "people@251101", "Orders@251101", "a", "zzzzzzzzzzzzz"})
    fixture.put(foreign, 7, Meaning::last);
  const CounterPage page = found_in(store);
  // What only looks like one of ours is the core's to see.
  Keys keys = keys_of(page);
  std::erase_if(keys, [](const std::string& key) { return !key.starts_with("orders@"); });
  CHECK(keys ==
        Keys{"orders@251101", "orders@251102", "orders@251103", "orders@251104", "orders@xyz@!1"});
  CHECK_FALSE(page.more);
  for (const FoundCounter& counter : page.counters) {
    if (counter.key == "orders@251102") CHECK((counter.number == 41 && counter.last == 41));
    if (counter.key == "orders@251103") CHECK((counter.number == 41 && counter.last == 40));
    if (counter.key == "orders@251104") CHECK((counter.number == 0 && counter.last == 0));
    CHECK(counter.problem.empty());
  }
}

PURGE_TEST("pages follow each other and leave nothing out") {
  TestType fixture;
  auto store = fixture.open();
  Keys wanted;
  for (int day = 1; day <= 25; ++day) {
    wanted.push_back("orders@2511" + std::string(day < 10 ? "0" : "") + std::to_string(day));
    fixture.put(wanted.back(), day, Meaning::last);
  }
  Keys keys;
  std::string after;
  for (int pages = 1;; ++pages) {
    const CounterPage page = must(store->find_counters(query_of(after, 10)));
    for (const std::string& key : keys_of(page)) keys.push_back(key);
    if (!page.more) {
      CHECK(pages == 3);
      break;
    }
    REQUIRE(page.counters.size() == 10);
    after = page.after;
  }
  CHECK(keys == wanted);
}

PURGE_TEST("what is removed is gone, and everything else stays") {
  TestType fixture;
  auto store = fixture.open();
  for (const char* key : {"orders@251101", "orders@251102", "orders@251103", "orders"})
    fixture.put(key, 41, Meaning::last);
  std::vector<FoundCounter> counters = found_in(store).counters;
  REQUIRE(counters.size() == 3);
  counters.erase(counters.begin() + 1);
  CHECK(remove(store, counters) == std::vector<Kind>{Kind::removed, Kind::removed});
  CHECK(fixture.value("orders@251101") == -1);
  CHECK(fixture.value("orders@251102") == 41);
  CHECK(fixture.value("orders@251103") == -1);
  CHECK(fixture.value("orders") == 41);
  // Asked for once more, it is not there.
  CHECK(remove(store, counters) == std::vector<Kind>{Kind::changed, Kind::changed});
}

PURGE_TEST("a counter that moved since it was looked at stays") {
  TestType fixture;
  auto store = fixture.open();
  for (const char* key : {"orders@251101", "orders@251102"}) fixture.put(key, 40, Meaning::last);
  const std::vector<FoundCounter> counters = found_in(store).counters;
  const auto lease = lease_request("orders@251101", 10, TestType::kTrace);
  require_granted(fixture.open()->lease(lease), 41, 51);
  CHECK(remove(store, counters) == std::vector<Kind>{Kind::changed, Kind::removed});
  CHECK(fixture.value("orders@251101") == 50);
}

PURGE_TEST("a number that is none, or of another meaning, is told and not removed") {
  TestType fixture;
  auto store = fixture.open();
  fixture.put("orders@251101", -5, Meaning::last);
  fixture.put("orders@251102", 5, Meaning::unset);
  fixture.put("orders@251103", 5, Meaning::last);
  const CounterPage page = found_in(store);
  REQUIRE(page.counters.size() == 3);
  CHECK_FALSE(page.counters[0].problem.empty());
  CHECK_FALSE(page.counters[1].problem.empty());
  CHECK(page.counters[2].problem.empty());
}

PURGE_TEST("what was parked of a counter goes with it") {
  TestType fixture;
  if (TestType::kTrace == LeaseTrace::plain && !TestType::kCountsLeases) return;  // parks nothing
  auto store = fixture.open();
  for (const char* key : {"orders@251101", "orders@251102"}) {
    auto lease = lease_request(key, 10, TestType::kTrace);
    lease.sequence = key;
    REQUIRE(store->claim({lease.instance, 0, random_token()}).ok());
    require_granted(store->lease(lease), 1, 11);
    ReturnRequest back;
    back.binding = lease.binding;
    back.token = random_token(TestType::kTrace);
    back.instance = lease.instance;
    back.sequence = key;
    back.begin = 4;
    back.end = 11;
    back.reuse = Reuse::parked;
    REQUIRE(store->return_range(back).kind == ReturnOutcome::Kind::returned);
  }
  std::vector<FoundCounter> counters = found_in(store).counters;
  REQUIRE(counters.size() == 2);
  counters.pop_back();
  CHECK(remove(store, counters) == std::vector<Kind>{Kind::removed});
  // Made again, it is as one that never was; the other one still has what is parked.
  for (const char* key : {"orders@251101", "orders@251102"}) {
    auto lease = lease_request(key, 20, TestType::kTrace);
    lease.sequence = key;
    lease.instance.fill(9);
    lease.take_parked = true;
    const bool gone = std::string(key) == "orders@251101";
    require_granted(store->lease(lease), gone ? 1 : 4, gone ? 21 : 11);
    const auto reading = store->read({lease.binding, lease.instance});
    REQUIRE(reading.ok());
    CHECK(reading->parked.ranges == 0);
    if (gone && reading->totals) CHECK(reading->totals->all.ids == 20);
  }
}

PURGE_TEST("the floor of a counter goes with it") {
  TestType fixture;
  auto store = fixture.open();
  for (const char* key : {"orders@251101", "orders@251102"}) {
    fixture.put(key, 41, Meaning::last);
    AdvanceRequest request{.binding = lease_request(key, 1).binding, .next_id = 70};
    request.withdraw = true;
    REQUIRE(store->advance(request).ok());
  }
  std::vector<FoundCounter> counters = found_in(store).counters;
  REQUIRE(counters.size() == 2);
  counters.pop_back();
  CHECK(remove(store, counters) == std::vector<Kind>{Kind::removed});
  for (const char* key : {"orders@251101", "orders@251102"}) {
    if (std::string(key) == "orders@251101") fixture.put(key, 3, Meaning::last);
    const auto reading = store->read({lease_request(key, 1).binding, {}});
    REQUIRE(reading.ok());
    CHECK(reading->floor == (std::string(key) == "orders@251101" ? 0 : 70));
  }
}

TEST_CASE("Purge: stores without keys in order say so", "[store][purge]") {
  DynamoFixture fixture;
  auto store = fixture.open();
  const auto page = store->find_counters(query_of());
  REQUIRE_FALSE(page.ok());
  CHECK(page.status().code() == ErrorCode::CONFIG);
  const auto outcomes = store->remove_counters({query_of().binding, {{"orders@251101", 1, 1, ""}}});
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].kind == Kind::failed);
}

}  // namespace
}  // namespace seqd

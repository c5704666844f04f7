// The contract of every store that keeps registers: see register_store.h, and the rules of
// tests/model/register.pml.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/adapters/register_contract.h"

namespace seqd {
namespace {

using namespace testing;
using Kind = RegisterChange::Kind;
using Ended = RegisterOutcome::Kind;

REGISTER_TEST("an unused register is empty, and reading it creates nothing") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  for (int look = 0; look < 2; ++look) {
    const RegisterReading reading = invoices.read({"a"}, {1}, 5);
    REQUIRE((reading.highest == 0 && !reading.closed && reading.free.empty()));
    REQUIRE((!reading.of_keys.at(0) && !reading.of_numbers.at(0)));
    REQUIRE(invoices.page().empty());
  }
  REQUIRE(fixture.value("invoices") == -1);
}

REGISTER_TEST("numbers begin at first_id, follow without a hole, and keep what was written") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  invoices.place.binding.first_id = GENERATE(std::int64_t{1}, std::int64_t{1'000});
  const std::int64_t first = invoices.place.binding.first_id;
  require_ended(invoices.write({invoices.add(first, "a"), invoices.add(first + 1, "b")}),
                Ended::all, 2);
  const RegisterReading reading = invoices.read({"b", "c", "a"}, {first, first + 2});
  REQUIRE(reading.highest == first + 1);
  REQUIRE_FALSE(reading.of_keys.at(1));
  REQUIRE_FALSE(reading.of_numbers.at(1));
  REQUIRE(reading.of_keys.at(2) == reading.of_numbers.at(0));
  NumberRecord wanted;
  wanted.number = first + 1;
  wanted.key = "b";
  wanted.text = "T-" + std::to_string(first + 1);
  wanted.assigned = {1'000 + first + 1, "tester"};
  REQUIRE(reading.of_keys.at(0) == wanted);
}

REGISTER_TEST("a write ends at the first that is not as it was read") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  // Others took the number; the key; the number behind the next one is no next one.
  require_ended(invoices.write({invoices.add(1, "b"), invoices.add(2, "c")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(3, "b")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(0, "b")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(2, "b"), invoices.add(3, "a"), invoices.add(3, "c")}),
                Ended::changed, 1);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a", "b"});
  // Its answer was lost, and it is sent again.
  require_ended(invoices.write({invoices.add(2, "b")}), Ended::changed, 0);
}

REGISTER_TEST("a cancel names number and key, and what was cancelled stays in the record") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b")}), Ended::all, 2);
  require_ended(invoices.write({invoices.cancel(1, "b")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.cancel(2, "a")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.cancel(1, "a")}), Ended::all, 1);
  require_ended(invoices.write({invoices.cancel(1, "a")}), Ended::changed, 0);
  const RegisterReading reading = invoices.read({"a"}, {1}, 5);
  REQUIRE_FALSE(reading.of_keys.at(0));
  REQUIRE(reading.free.empty());
  const NumberRecord& record = reading.of_numbers.at(0).value();
  REQUIRE((record.state == NumberState::voided && record.key.empty() && record.text == "T-1"));
  REQUIRE(record.former ==
          std::vector<FormerKey>{{"a", {1'001, "tester"}, {2'001, "canceller"}, "withdrawn"}});
  // It is void for good, and the key gets another number.
  require_ended(invoices.write({invoices.refill(1, "c", 1)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(3, "a")}), Ended::all, 1);
  REQUIRE(invoices.read({"a"}).of_keys.at(0)->number == 3);
}

REGISTER_TEST("a number without a key is void from the beginning, and says why") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  RegisterChange lost = invoices.add(1, "");
  lost.reason = "restored";
  require_ended(invoices.write({lost, invoices.add(2, "a"), lost}), Ended::changed, 2);
  const NumberRecord record = invoices.read({}, {1}).of_numbers.at(0).value();
  REQUIRE((record.state == NumberState::voided && record.key.empty() && record.text == "T-1"));
  REQUIRE(record.former ==
          std::vector<FormerKey>{{"", {1'001, "tester"}, {1'001, "tester"}, "restored"}});
  REQUIRE(invoices.page().size() == 2);
  // Others of its kind are no second number of one key.
  lost.number = 3;
  require_ended(invoices.write({lost}), Ended::all, 1);
  REQUIRE_FALSE(invoices.read({""}).of_keys.at(0));
}

REGISTER_TEST("what is confirmed is not cancelled, and is confirmed once, by number and key") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b")}), Ended::all, 2);
  require_ended(invoices.write({invoices.confirm(1, "b")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.confirm(1, "a")}), Ended::all, 1);
  require_ended(invoices.write({invoices.confirm(1, "a")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.cancel(1, "a")}), Ended::changed, 0);
  const NumberRecord record = invoices.read({"a"}).of_keys.at(0).value();
  REQUIRE(record.state == NumberState::confirmed);
  REQUIRE((record.assigned.by == "tester" && record.confirmed == Stamp{3'001, "confirmer"}));
  require_ended(invoices.write({invoices.cancel(2, "b")}), Ended::all, 1);
  require_ended(invoices.write({invoices.confirm(2, "b")}), Ended::changed, 0);
}

REGISTER_TEST("a free number goes to another key, never to one that it was cancelled for") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.add(3, "c")}),
                Ended::all, 3);
  require_ended(invoices.write({invoices.cancel(2, "b", true), invoices.cancel(1, "a", true)}),
                Ended::all, 2);
  RegisterReading reading = invoices.read({}, {}, 5);
  REQUIRE(reading.free.size() == 2);
  REQUIRE((reading.free.at(0).number == 1 && reading.free.at(0).former.at(0).key == "a"));
  REQUIRE(invoices.read({}, {}, 1).free.size() == 1);
  require_ended(invoices.write({invoices.refill(1, "a", 1)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.refill(1, "c", 1)}), Ended::changed, 0);  // has a number
  require_ended(invoices.write({invoices.refill(1, "d", 0)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.refill(3, "d", 0)}), Ended::changed, 0);  // is not free
  require_ended(invoices.write({invoices.refill(1, "d", 1)}), Ended::all, 1);
  require_ended(invoices.write({invoices.cancel(1, "d", true)}), Ended::all, 1);
  // It was read before the other key had it: the record is not the same any more.
  require_ended(invoices.write({invoices.refill(1, "e", 1)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.refill(1, "e", 2)}), Ended::all, 1);
  const NumberRecord record = invoices.read({"e"}).of_keys.at(0).value();
  REQUIRE((record.number == 1 && record.former.size() == 2 && record.text == "T-1"));
}

REGISTER_TEST("a key has one number in all periods, and each period numbers of its own") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister old_year(*store, "2026");
  TestRegister new_year(*store, "2027");
  require_ended(old_year.write({old_year.add(1, "a"), old_year.add(2, "b")}), Ended::all, 2);
  const RegisterReading reading = new_year.read({"a"}, {1});
  REQUIRE((reading.highest == 0 && !reading.of_numbers.at(0)));
  REQUIRE((reading.of_keys.at(0)->period == "2026" && reading.of_keys.at(0)->number == 1));
  require_ended(new_year.write({new_year.add(1, "a")}), Ended::changed, 0);
  require_ended(new_year.write({new_year.add(1, "c")}), Ended::all, 1);
  REQUIRE(old_year.keys() == std::vector<std::string>{"a", "b"});
  REQUIRE(new_year.keys() == std::vector<std::string>{"c"});
  // Of another register: keys have nothing to do with each other.
  TestRegister receipts(*store, "2026", "receipts");
  require_ended(receipts.write({receipts.add(1, "a")}), Ended::all, 1);
}

REGISTER_TEST("nothing is added to a period that was closed, and what is free there is void") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store, "2026");
  require_ended(invoices.write({invoices.add(1, "a"), invoices.add(2, "b"), invoices.add(3, "c"),
                                invoices.cancel(1, "a", true)}),
                Ended::all, 4);
  require_ended(invoices.write({invoices.close(3)}), Ended::changed, 0);  // not behind the highest
  require_ended(invoices.write({invoices.close(4)}), Ended::all, 1);
  const RegisterReading reading = invoices.read({}, {1, 4}, 5);
  REQUIRE((reading.highest == 3 && reading.closed && reading.free.empty()));
  REQUIRE(reading.of_numbers.at(0)->state == NumberState::voided);
  REQUIRE_FALSE(reading.of_numbers.at(1));
  REQUIRE(invoices.page().size() == 3);
  require_ended(invoices.write({invoices.add(4, "d")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(5, "d")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.close(4)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.refill(1, "d", 1)}), Ended::changed, 0);
  // What is open is still ended, for good.
  require_ended(invoices.write({invoices.cancel(2, "b", true)}), Ended::changed, 0);
  require_ended(invoices.write({invoices.cancel(2, "b"), invoices.confirm(3, "c")}), Ended::all, 2);
  // The next year is not closed.
  TestRegister next(*store, "2027");
  require_ended(next.write({next.add(1, "d")}), Ended::all, 1);
}

REGISTER_TEST("a period without a number can be closed") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store, "2026");
  invoices.place.binding.first_id = 100;
  require_ended(invoices.write({invoices.close(100)}), Ended::all, 1);
  const RegisterReading reading = invoices.read({});
  REQUIRE((reading.closed && invoices.page().empty()));
  require_ended(invoices.write({invoices.add(100, "a")}), Ended::changed, 0);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::changed, 0);
}

REGISTER_TEST("a page has the numbers above one, of one state") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  for (std::int64_t number = 1; number <= 9; ++number)
    require_ended(invoices.write({invoices.add(number, "k" + std::to_string(number))}), Ended::all,
                  1);
  require_ended(invoices.write({invoices.cancel(2, "k2"), invoices.cancel(5, "k5", true),
                                invoices.confirm(7, "k7"), invoices.confirm(8, "k8")}),
                Ended::all, 4);
  const auto numbers = [&](std::int64_t after, std::optional<NumberState> state,
                           std::size_t limit) {
    std::vector<std::int64_t> found;
    for (const NumberRecord& record : invoices.page(after, state, limit))
      found.push_back(record.number);
    return found;
  };
  using Numbers = std::vector<std::int64_t>;
  REQUIRE(numbers(0, {}, 4) == Numbers{1, 2, 3, 4});
  REQUIRE(numbers(4, {}, 100) == Numbers{5, 6, 7, 8, 9});
  REQUIRE(numbers(9, {}, 100).empty());
  REQUIRE(numbers(0, NumberState::confirmed, 1) == Numbers{7});
  REQUIRE(numbers(7, NumberState::confirmed, 9) == Numbers{8});
  REQUIRE(numbers(0, NumberState::voided, 9) == Numbers{2});
  REQUIRE(numbers(0, NumberState::free, 9) == Numbers{5});
  REQUIRE(numbers(0, NumberState::assigned, 9) == Numbers{1, 3, 4, 6, 9});
  REQUIRE(invoices.page(1, {}, 1).at(0).former.at(0).reason == "withdrawn");
}

REGISTER_TEST("an older copy of the database answers nothing, not even of a key that it has") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  invoices.place.instance = random_token();
  invoices.place.heartbeat = 7;  // the store has none of this host
  REQUIRE(store->read_register({invoices.place, {"a"}, {}, 0}).status().code() ==
          ErrorCode::SEQ_REGRESSED);
  REQUIRE(store->list_register({invoices.place, 0, {}, 10}).status().code() ==
          ErrorCode::SEQ_REGRESSED);
  const RegisterOutcome outcome = invoices.write({invoices.add(2, "b")});
  REQUIRE((outcome.kind == Ended::failed && outcome.error.code() == ErrorCode::SEQ_REGRESSED));
  invoices.place.heartbeat = 0;
  REQUIRE(invoices.keys() == std::vector<std::string>{"a"});
}

REGISTER_TEST("nothing is leased from a register, and none is made of a counter") {
  TestType fixture;
  auto store = fixture.open();
  const std::string period = GENERATE("", "2026");
  TestRegister invoices(*store, period);
  require_ended(invoices.write({invoices.add(1, "a")}), Ended::all, 1);
  const std::string name = period.empty() ? "invoices" : "invoices@2026";
  LeaseRequest lease = lease_request(name, 10, TestType::kTrace);
  lease.binding.meaning = GENERATE(Meaning::unset, Meaning::last, Meaning::next);
  require_refused(store->lease(lease), ErrorCode::WRONG_MODE);
  REQUIRE(store->advance({lease.binding, 100, false}).status().code() == ErrorCode::WRONG_MODE);
  REQUIRE(store->read({lease.binding, {}}).status().code() == ErrorCode::WRONG_MODE);
  REQUIRE(invoices.keys() == std::vector<std::string>{"a"});

  require_granted(store->lease(lease_request("orders", 10, TestType::kTrace)), 1, 11);
  TestRegister orders(*store, "", "orders");
  const RegisterOutcome outcome = orders.write({orders.add(1, "a")});
  REQUIRE((outcome.kind == Ended::failed && outcome.error.code() == ErrorCode::WRONG_MODE));
  REQUIRE(orders.page().empty());
}

REGISTER_TEST("keys are told apart to the byte, and may be long") {
  TestType fixture;
  auto store = fixture.open();
  TestRegister invoices(*store);
  const std::vector<std::string> keys = {
      "a", "A", " a", "a ", "\xc3\xa9", "e\xcc\x81", std::string(256, 'x'), "'\"", "%", "0", "00"};
  for (std::size_t at = 0; at < keys.size(); ++at)
    require_ended(invoices.write({invoices.add(static_cast<std::int64_t>(at) + 1, keys[at])}),
                  Ended::all, 1);
  REQUIRE(invoices.keys() == keys);
}

// Programs of two hosts, each of which asks for some keys of all, twice, and cancels and confirms.
REGISTER_TEST("many hosts give each key one number, and leave no hole") {
  TestType fixture;
  auto one = fixture.open();
  auto two = fixture.open();
  constexpr int kKeys = 24;
  std::mutex mutex;
  std::map<std::string, std::set<std::int64_t>> answered;
  std::set<std::string> cancelled;
  race(6, [&](int host) {
    TestRegister invoices(host % 2 == 0 ? *one : *two, "2026");
    for (int step = 0; step < 2 * kKeys; ++step) {
      const int number = (step * 7 + host * 5) % kKeys;
      const std::string key = "key" + std::to_string(number);
      const std::int64_t assigned = invoices.assign(key);
      {
        const std::lock_guard lock(mutex);
        answered[key].insert(assigned);
      }
      if (number % 6 == 0 && host == 0 && step < kKeys) {
        require_in_race(invoices.write({invoices.cancel(assigned, key, number == 0)}));
        const std::lock_guard lock(mutex);
        cancelled.insert(key);
      }
      if (number % 5 == 1) require_in_race(invoices.write({invoices.confirm(assigned, key)}));
    }
  });
  TestRegister invoices(*one, "2026");
  const std::vector<NumberRecord> records = invoices.page(0, {}, 1'000);
  std::map<std::string, std::set<std::int64_t>> recorded;
  for (std::size_t at = 0; at < records.size(); ++at) {
    const NumberRecord& record = records[at];
    REQUIRE(record.number == static_cast<std::int64_t>(at) + 1);
    REQUIRE(record.text == "T-" + std::to_string(record.number));
    if (!record.key.empty()) REQUIRE(recorded[record.key].insert(record.number).second);
    for (const FormerKey& former : record.former)
      REQUIRE(recorded[former.key].insert(record.number).second);
  }
  REQUIRE(recorded == answered);
  for (const auto& [key, numbers] : answered) {
    CAPTURE(key);
    REQUIRE(numbers.size() <= (cancelled.contains(key) ? 2U : 1U));
  }
}

}  // namespace
}  // namespace seqd

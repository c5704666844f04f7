// The words of the contract of every store that keeps registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/adapters/store_contract.h"

namespace seqd::testing {

#define REGISTER_TEST(name)                                                       \
  TEMPLATE_TEST_CASE("Register: " name, "[register]", testing::SqliteFixture,     \
                     testing::MongoAloneFixture, testing::MongoReplicaSetFixture, \
                     testing::DynamoFixture)

inline void require_ended(const RegisterOutcome& outcome, RegisterOutcome::Kind kind,
                          std::size_t done) {
  INFO(outcome.error.to_string());
  REQUIRE((outcome.kind == kind && outcome.done == done));
}

// In a thread that is not the test's. It may have come too late; nothing else may be wrong.
inline void require_in_race(const RegisterOutcome& outcome) {
  if (outcome.kind != RegisterOutcome::Kind::all && outcome.kind != RegisterOutcome::Kind::changed)
    throw std::runtime_error(outcome.error.to_string());
}

// One period of a register, as a host sees it.
struct TestRegister {
  explicit TestRegister(BlockingStore& of, std::string period = "", std::string key = "invoices")
      : store(of) {
    place.binding.key = std::move(key);
    place.period = std::move(period);
  }

  static RegisterChange change(RegisterChange::Kind kind, std::int64_t number, std::string key,
                               Stamp stamp) {
    RegisterChange made;
    made.kind = kind;
    made.number = number;
    made.key = std::move(key);
    made.stamp = std::move(stamp);
    return made;
  }
  RegisterChange add(std::int64_t number, std::string key) const {
    RegisterChange made =
        change(RegisterChange::Kind::add, number, std::move(key), {1'000 + number, "tester"});
    made.text = "T-" + std::to_string(number);
    return made;
  }
  RegisterChange refill(std::int64_t number, std::string key, std::size_t former) const {
    RegisterChange made =
        change(RegisterChange::Kind::refill, number, std::move(key), {4'000 + number, "tester"});
    made.former = former;
    return made;
  }
  RegisterChange confirm(std::int64_t number, std::string key) const {
    return change(RegisterChange::Kind::confirm, number, std::move(key),
                  {3'000 + number, "confirmer"});
  }
  RegisterChange cancel(std::int64_t number, std::string key, bool free = false) const {
    RegisterChange made =
        change(RegisterChange::Kind::cancel, number, std::move(key), {2'000 + number, "canceller"});
    made.free = free;
    made.reason = "withdrawn";
    return made;
  }
  RegisterChange close(std::int64_t number) const {
    return change(RegisterChange::Kind::close, number, "", {5'000, "closer"});
  }

  RegisterOutcome write(std::vector<RegisterChange> changes) {
    return store.write_register({place, std::move(changes)});
  }
  RegisterReading read(std::vector<std::string> keys, std::vector<std::int64_t> numbers = {},
                       std::size_t free = 0) {
    auto reading = store.read_register({place, std::move(keys), std::move(numbers), free});
    if (!reading.ok()) throw std::runtime_error(reading.status().to_string());
    return std::move(*reading);
  }
  std::vector<NumberRecord> page(std::int64_t after = 0, std::optional<NumberState> state = {},
                                 std::size_t limit = 100) {
    auto records = store.list_register({place, after, state, limit});
    if (!records.ok()) throw std::runtime_error(records.status().to_string());
    return std::move(*records);
  }
  std::vector<std::string> keys() {
    std::vector<std::string> found;
    for (const NumberRecord& record : page()) found.push_back(record.key);
    return found;
  }
  // As the core does it: reads, and adds what is not there, until it is.
  std::int64_t assign(const std::string& key) {
    for (;;) {
      const RegisterReading reading = read({key}, {}, 1);
      if (reading.of_keys.at(0)) return reading.of_keys.at(0)->number;
      const bool has_free = !reading.free.empty() && reading.free[0].former[0].key != key;
      const RegisterChange wanted =
          has_free ? refill(reading.free[0].number, key, reading.free[0].former.size())
                   : add(reading.highest + 1, key);
      require_in_race(write({wanted}));
    }
  }

  BlockingStore& store;
  RegisterPlace place;
};

}  // namespace seqd::testing

// DynamoRegisters: a register in the real DynamoDB Local behind a proxy that makes faults, and what
// people do there behind its back. One thread.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/adapters/dynamo/dynamo_faults.h"
#include "tests/adapters/register_contract.h"

namespace seqd::testing {

inline constexpr char kTransact[] = "TransactWriteItems";
inline constexpr char kReadTogether[] = "TransactGetItems";

// A transaction that was cancelled; the code of each of its items.
inline HttpFault cancelled(const std::vector<std::string>& codes) {
  std::string reasons;
  for (const std::string& code : codes) {
    reasons += reasons.empty() ? "" : ", ";
    reasons += fmt::format(R"({{"Code": "{}", "Message": "said so"}})", code);
  }
  return says(400, fmt::format(R"({{"__type": "x#TransactionCanceledException",
                                   "Message": "Transaction cancelled",
                                   "CancellationReasons": [{}]}})",
                               reasons));
}

struct DynamoRegisters {
  DynamoRegisters() : store(faults.open()), invoices(*store) {}

  static std::string number_item(int number) {
    return fmt::format("seqd-register:number:8:invoices::{}", number);
  }
  static std::string key_item(const std::string& key) {
    return "seqd-register:key:8:invoices:" + key;
  }
  static std::string period_item() { return "seqd-register:period:8:invoices:"; }
  static std::string free_item() { return "seqd-register:free:8:invoices:"; }

  // SET NAME to a value, as JSON; no value: REMOVE.
  void change_by_hand(const std::string& item, const std::string& name, const std::string& value) {
    const std::string change = value.empty() ? R"("UpdateExpression": "REMOVE #n")"
                                             : fmt::format(R"("UpdateExpression": "SET #n = :v",
                                       "ExpressionAttributeValues": {{":v": {}}})",
                                                           value);
    faults.server.call("UpdateItem",
                       fmt::format(R"({{"TableName": "counters", "Key": {{"_id": {{"S": "{}"}}}},
                         "ExpressionAttributeNames": {{"#n": "{}"}}, {}}})",
                                   item, name, change));
  }
  // In the order of the numbers: of as many keys.
  void add(const std::vector<std::string>& keys) {
    std::vector<RegisterChange> changes;
    for (const std::string& key : keys)
      changes.push_back(invoices.add(static_cast<std::int64_t>(changes.size()) + 1, key));
    const std::size_t count = changes.size();
    require_ended(invoices.write(std::move(changes)), RegisterOutcome::Kind::all, count);
  }
  void require_not_applied(std::vector<RegisterChange> changes, RegisterOutcome::Kind kind,
                           ErrorCode code, const std::string& why, std::size_t done = 0) {
    const RegisterOutcome outcome = invoices.write(std::move(changes));
    INFO(outcome.error.to_string());
    REQUIRE((outcome.kind == kind && outcome.done == done));
    REQUIRE(error_name(outcome.error.code()) == error_name(code));
    REQUIRE(outcome.error.text().find(why) != std::string::npos);
  }
  ErrorCode read_error(std::vector<std::string> keys) {
    return store->read_register({invoices.place, std::move(keys), {}, 0}).status().code();
  }
  ErrorCode list_error(std::optional<NumberState> state = {}) {
    return store->list_register({invoices.place, 0, state, 10}).status().code();
  }

  DynamoFaults faults;
  std::unique_ptr<DynamoHandle> store;
  TestRegister invoices;
};

}  // namespace seqd::testing

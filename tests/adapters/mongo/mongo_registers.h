// Registers: a register on a real MongoDB server, and what people do there behind its back.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"
#include "tests/adapters/register_contract.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

// A server, and a store on it that only the fail points of its own name reach.
struct Registers {
  explicit Registers(const char* variable, const std::string& uri = "")
      : server(variable),
        name("register-" + server.database()),
        store(open(uri.empty() ? server.uri() : uri)),
        invoices(*store) {}

  OpenMongoStore open(const std::string& uri) const {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(uri, "appName=" + name);
    return open_mongo_store(options);
  }
  // Of fail point "failCommand".
  std::string failure(const char* command, const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["{}"], "appName": "{}", {}}})", command, name, what);
  }
  void change_by_hand(int number, const std::string& update) {
    server.command(fmt::format(
        R"({{"update": "seqd_register", "updates": [{{"q": {{"_id.number": {}}}, "u": {}}}]}})",
        number, update));
  }
  bool has(const std::string& filter) { return !server.find("seqd_register", filter).empty(); }
  ErrorCode read_error(std::vector<std::string> keys) {
    return store->read_register({invoices.place, std::move(keys), {}, 0}).status().code();
  }
  void require_refused(std::vector<RegisterChange> changes, const std::string& why,
                       RegisterOutcome::Kind kind = RegisterOutcome::Kind::failed) {
    const RegisterOutcome outcome = invoices.write(std::move(changes));
    INFO(outcome.error.to_string());
    REQUIRE((outcome.kind == kind && outcome.done == 0));
    REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
    REQUIRE(outcome.error.text().find(why) != std::string::npos);
  }

  MongoServer server;
  std::string name;
  OpenMongoStore store;
  TestRegister invoices;
};

}  // namespace seqd::testing

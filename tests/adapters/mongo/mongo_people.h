// People: documents that are inserted into a collection of a real server, and what came of them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/store/mongo/insert/mongo_insert.h"
#include "protocol/values/value_writer.h"
#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/mongo/mongo_stores.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

// {"name": TEXT}
inline std::shared_ptr<const std::string> person(const std::string& name) {
  protocol::Buffer out;
  protocol::append_map(out, 1);
  protocol::append_text(out, "name");
  protocol::append_text(out, name);
  return std::make_shared<const std::string>(out.data(), out.size());
}

// A server with the empty collection "people", and a store on it that only the fail points of its
// own name reach.
struct People {
  explicit People(const char* variable, const std::string& uri_option = "")
      : server(variable), name("insert-" + server.database()) {
    MongoStoreOptions options = server.options();
    options.uri = with_uri_option(options.uri, "appName=" + name);
    if (!uri_option.empty()) options.uri += "&" + uri_option;
    store = open_mongo_store(options);
    batch.collection = "people";
    batch.max_value = 1'000'000;
    batch.patience_ms = 20'000;
    server.command(R"({"create": "people"})");
  }
  std::vector<InsertOutcome> insert(const std::vector<std::string>& names) {
    batch.items.clear();
    for (const std::string& each : names) batch.items.push_back({person(each), ""});
    return store->insert(batch);
  }
  InsertOutcome insert_one(const std::string& who) { return insert({who}).front(); }
  std::string command_failure(const std::string& what) const {
    return fmt::format(R"({{"failCommands": ["insert"], "appName": "{}", {}}})", name, what);
  }
  std::string at(std::int64_t id) {
    return server.find("people", fmt::format(R"({{"_id": {}}})", id));
  }

  MongoServer server;
  std::string name;
  OpenMongoStore store;
  InsertBatch batch;
};

inline bool mentions(const Status& status, const std::string& part) {
  return status.text().find(part) != std::string::npos;
}

// Each outcome by its ID, or the reason that there is none.
inline void require_ids(const std::vector<InsertOutcome>& outcomes,
                        const std::vector<std::int64_t>& ids) {
  REQUIRE(outcomes.size() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    INFO(i << ": " << outcomes[i].error.to_string());
    REQUIRE(outcomes[i].kind == InsertOutcome::Kind::inserted);
    REQUIRE(outcomes[i].id == ids[i]);
  }
}

}  // namespace seqd::testing

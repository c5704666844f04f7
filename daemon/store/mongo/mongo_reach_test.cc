// Leases where servers cannot be reached: they stop, die, step down, were never there, or refuse
// TLS and authentication.
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/faulty_mongo.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;
using Kind = LeaseOutcome::Kind;

// Whether all threads of that process are stopped: one that is not may still replicate a write.
bool stands_still(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos || stat.at(name_end + 2) != 'T') return false;
  }
  return true;
}

// Lets a stopped process go on when the test ends, however it ends.
struct Stopped {
  ~Stopped() {
    if (pid != 0) kill(pid, SIGCONT);
  }
  pid_t pid = 0;
};

TEST_CASE("MongoFaults: a write that no majority confirms is unknown", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  faulty.reopen(1000);
  // Both secondaries stop: the real thing, seen from the primary as a time-out of its write
  // concern.
  std::vector<pid_t> stopped;
  const std::string seeds = faulty.server.uri();
  const std::size_t at = seeds.find('@') + 1;
  const std::string hosts = seeds.substr(at, seeds.find('/', at) - at);
  for (std::size_t begin = 0; begin < hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', begin), hosts.size());
    mongoc_client_t* client = mongoc_client_new(
        (seeds.substr(0, at) + hosts.substr(begin, end - begin) + "/?directConnection=true")
            .c_str());
    const std::unique_ptr<mongoc_read_prefs_t, void (*)(mongoc_read_prefs_t*)> any(
        mongoc_read_prefs_new(MONGOC_READ_NEAREST), mongoc_read_prefs_destroy);
    bson_t reply;
    bson_error_t error;
    for (const char* command : {"hello", "serverStatus"}) {
      Document request;
      request.add(command, std::int64_t{1});
      REQUIRE(
          mongoc_client_command_simple(client, "admin", request.get(), any.get(), &reply, &error));
      bson_iter_t found;
      if (std::string(command) == "hello") {
        REQUIRE(find_field(&reply, "isWritablePrimary", &found));
        if (bson_iter_bool(&found)) {
          bson_destroy(&reply);
          break;
        }
      } else {
        REQUIRE(find_field(&reply, "pid", &found));
        stopped.push_back(static_cast<pid_t>(bson_iter_as_int64(&found)));
      }
      bson_destroy(&reply);
    }
    mongoc_client_destroy(client);
    begin = end + 1;
  }
  REQUIRE(stopped.size() == 2);
  faulty.connect();
  for (const pid_t pid : stopped) kill(pid, SIGSTOP);
  const Stopped first{stopped[0]};
  const Stopped second{stopped[1]};
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (const pid_t pid : stopped)
    while (!stands_still(pid)) REQUIRE_IN_TIME(std::chrono::steady_clock::now() < late);
  LeaseRequest request = lease_request("orders", 10);
  request.high_water = faulty.high_water;
  const LeaseOutcome outcome = faulty.store->lease(request);
  for (const pid_t pid : stopped) kill(pid, SIGCONT);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::unknown);
}

TEST_CASE("MongoFaults: leases go on after the primary is gone, without a duplicate", "[mongo]") {
  Faulty faulty(kMongoReplicaSet);
  faulty.reopen(2000);
  const std::string how = GENERATE("step down", "kill", "stop");
  INFO(how);
  Stopped stopped;
  if (how == "step down") {
    faulty.server.admin(R"({"replSetStepDown": 2, "force": true})");
  } else {
    const Document status = faulty.server.admin(R"({"serverStatus": 1})");
    bson_iter_t found;
    REQUIRE(find_field(status.get(), "pid", &found));
    const auto pid = static_cast<pid_t>(bson_iter_as_int64(&found));
    if (how == "stop") stopped.pid = pid;
    kill(pid, how == "stop" ? SIGSTOP : SIGKILL);  // with_mongo.py starts a killed one again
  }
  std::int64_t highest = faulty.high_water;
  int granted = 0;
  for (int attempt = 0; attempt < 100 && granted < 5; ++attempt) {
    LeaseRequest request = lease_request("orders", 10);
    request.high_water = highest;
    const LeaseOutcome outcome = faulty.store->lease(request);
    if (outcome.kind != Kind::granted) {
      INFO(outcome.error.to_string());
      REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
      continue;
    }
    REQUIRE(outcome.begin >= highest);
    highest = outcome.end;
    ++granted;
  }
  REQUIRE(granted == 5);
}

TEST_CASE("MongoFaults: a server that is away is refused within the time-out", "[mongo]") {
  MongoStoreOptions options;
  options.uri = "mongodb://127.0.0.1:1/test";
  options.timeout_ms = 300;
  auto store = open_mongo_store(options);
  const auto began = std::chrono::steady_clock::now();
  const LeaseOutcome outcome = store->lease(lease_request("orders", 10));
  // Thirty seconds are the driver's own patience.
  REQUIRE_IN_TIME(std::chrono::steady_clock::now() - began < std::chrono::seconds(25));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  INFO(outcome.error.text());
  REQUIRE(outcome.error.text().find("127.0.0.1:1") != std::string::npos);
}

// The store's answer to a changed URI of the server with TLS and authentication.
LeaseOutcome secure_lease(MongoServer& server, const std::string& uri,
                          int timeout_ms = kPatientMs) {
  MongoStoreOptions options = server.options();
  options.uri = uri;
  options.timeout_ms = timeout_ms;
  auto store = open_mongo_store(options);
  return store->lease(lease_request("orders", 10));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t found = text.find(from);
  REQUIRE(found != std::string::npos);
  return text.replace(found, from.size(), to);
}

TEST_CASE("MongoFaults: TLS and authentication by URI are granted, and failures name their cause",
          "[mongo]") {
  MongoServer server(kMongoSecure);
  const std::string uri = server.uri();
  LeaseOutcome outcome = secure_lease(server, uri);
  INFO(outcome.error.to_string());
  REQUIRE(outcome.kind == Kind::granted);

  outcome = secure_lease(server, replaced(uri, "rd%25@", "rd%25wrong@"));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("Authentication failed") != std::string::npos);
  REQUIRE(outcome.error.text().find("w@rd") == std::string::npos);

  const std::string at = uri.substr(10, uri.find('@') - 10);
  outcome = secure_lease(server, replaced(uri, at, "reader:reader"));
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::STORE_REFUSED);
  REQUIRE(outcome.error.text().find("readWrite") != std::string::npos);

  outcome = secure_lease(server, replaced(uri, "authority.pem", "stranger.pem"), 2000);
  REQUIRE(outcome.kind == Kind::refused);
  REQUIRE(outcome.error.code() == ErrorCode::UNAVAILABLE);
  INFO(outcome.error.text());
  REQUIRE(outcome.error.text().find("TLS") != std::string::npos);
}

}  // namespace
}  // namespace seqd

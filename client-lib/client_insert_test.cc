// Documents over the C ABI and the C++ header: inserted once, never repeated, and an error that
// says so wherever it is not known.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/seqd.hpp"
#include "tests/adapters/client/client_handle.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;

// {"a": NUMBER}
std::string document(char number) {
  return std::string("\x81\xa1") + "a" + number;
}

int insert(Handle& handle, const std::string& bytes, std::int64_t& id) {
  id = 0;
  return seqd_insert(handle.client, "people", bytes.data(), bytes.size(), &id);
}

// What the nth request meets, counted from 1; the others nothing.
void break_request(SocketDaemon& daemon, int broken, Fault fault) {
  daemon.wire().fault = [broken, fault](int number, const protocol::Message&) {
    return number == broken ? fault : Fault::none;
  };
}

}  // namespace

TEST_CASE("InsertSendsTheDocumentAndGivesItsId", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  {
    Handle handle(daemon);
    std::int64_t id = 0;
    REQUIRE(insert(handle, document('\x07'), id) == SEQD_OK);
    CHECK(id == 1);
    REQUIRE(insert(handle, document('\x08'), id) == SEQD_OK);
    CHECK(id == 2);
  }
  client::Options options;
  options.socket_path = daemon.path();
  options.flags = SEQD_ANONYMOUS | SEQD_DAEMON_WAIT;
  client::Client client(options);
  CHECK(*client.insert("people", document('\x09')) == 3);
  daemon.stop();
  CHECK(daemon.wire().inserted ==
        std::vector<std::string>{document('\x07'), document('\x08'), document('\x09')});
  CHECK(daemon.wire().complaint() == "");
}

TEST_CASE("AnInsertWhoseConnectionEndsIsUnknownAndIsNotRepeated", "[client]") {
  for (const Fault fault : {Fault::close_after, Fault::close_before}) {
    SocketDaemon daemon;
    break_request(daemon, 1, fault);
    daemon.start();
    {
      Handle handle(daemon);
      std::int64_t id = 0;
      CHECK(insert(handle, document('\x07'), id) == SEQD_E_OUTCOME_UNKNOWN);
      CHECK(contains(handle.error(), "may have been inserted"));
      CHECK(seqd_error_is_transient(SEQD_E_OUTCOME_UNKNOWN) == 0);
      REQUIRE(insert(handle, document('\x08'), id) == SEQD_OK);
    }
    daemon.stop();
    CHECK(daemon.wire().requests() == 2);
    CHECK(daemon.wire().inserted.size() == (fault == Fault::close_after ? 2 : 1));
    CHECK(daemon.wire().complaint() == "");
  }
}

TEST_CASE("AnInsertWithAUniqueFieldWhoseConnectionEndsIsRepeatedAndIsThereOnce", "[client]") {
  for (const Fault fault : {Fault::close_after, Fault::close_before}) {
    SocketDaemon daemon;
    break_request(daemon, 1, fault);
    daemon.start();
    {
      Handle handle(daemon);
      const std::string bytes = document('\x07');
      std::int64_t id = 0;
      REQUIRE(seqd_insert_unique(handle.client, "people", bytes.data(), bytes.size(), "a", &id) ==
              SEQD_OK);
      CHECK(id == 1);
      REQUIRE(seqd_submit_insert_unique(handle.client, "people", bytes.data(), bytes.size(), "a",
                                        nullptr) == SEQD_OK);
      seqd_reply reply = {};
      std::size_t used = 0;
      REQUIRE(seqd_poll(handle.client, 5'000, &reply, sizeof reply, 1, &used) == SEQD_OK);
      CHECK((used == 1 && reply.code == SEQD_OK && reply.id == 1));
      CHECK(seqd_insert_unique(handle.client, "people", bytes.data(), bytes.size(), "", &id) ==
            SEQD_E_ARGUMENT);
      CHECK(seqd_insert_unique(handle.client, "people", bytes.data(), bytes.size(), nullptr, &id) ==
            SEQD_E_ARGUMENT);
    }
    daemon.stop();
    CHECK(daemon.wire().inserted.size() == 1);
    CHECK(daemon.wire().complaint() == "");
  }
}

TEST_CASE("OfAnInsertWithAUniqueFieldThatMayBeThereNoErrorSaysThatItIsNot", "[client]") {
  SocketDaemon daemon;
  // Its first connection ends, and the second one says nothing.
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 1 ? Fault::close_before : Fault::ignore;
  };
  daemon.start();
  Handle handle(daemon, 5'000);
  const std::string bytes = document('\x07');
  std::int64_t id = 0;
  CHECK(seqd_insert_unique(handle.client, "people", bytes.data(), bytes.size(), "a", &id) ==
        SEQD_E_OUTCOME_UNKNOWN);
  daemon.stop();
}

TEST_CASE("AnInsertThatADaemonWouldNotTakeGoesToTheNextOne", "[client]") {
  SocketDaemon daemon;
  break_request(daemon, 1, Fault::stopping);
  daemon.start();
  {
    Handle handle(daemon);
    std::int64_t id = 0;
    REQUIRE(insert(handle, document('\x07'), id) == SEQD_OK);
    CHECK(id == 1);
  }
  daemon.stop();
  CHECK(daemon.wire().hellos() == 2);
  CHECK(daemon.wire().complaint() == "");
}

TEST_CASE("AnInsertWithoutAnAnswerInTimeIsUnknownAndOneThatWasNotSentIsNot", "[client]") {
  SocketDaemon daemon;
  break_request(daemon, 1, Fault::ignore);
  daemon.start();
  Handle handle(daemon, 5'000);
  std::int64_t id = 0;
  CHECK(insert(handle, document('\x07'), id) == SEQD_E_OUTCOME_UNKNOWN);
  CHECK(contains(handle.error(), "did not answer in time"));
  daemon.stop();
  Handle nobody(daemon, 100);
  CHECK(insert(nobody, document('\x07'), id) == SEQD_E_CONNECT);
}

TEST_CASE("OfAPipelineThatIsCutTheIdsAreRepeatedAndTheDocumentsAreNot", "[client]") {
  SocketDaemon daemon;
  break_request(daemon, 4, Fault::close_after);
  daemon.start();
  {
    Handle handle(daemon);
    int tags[4] = {};
    const std::string bytes = document('\x07');
    REQUIRE(seqd_submit_insert(handle.client, "people", bytes.data(), bytes.size(), &tags[0]) ==
            SEQD_OK);
    REQUIRE(seqd_submit_next(handle.client, "orders", &tags[1]) == SEQD_OK);
    REQUIRE(seqd_submit_insert(handle.client, "people", bytes.data(), bytes.size(), &tags[2]) ==
            SEQD_OK);
    REQUIRE(seqd_submit_next(handle.client, "orders", &tags[3]) == SEQD_OK);
    std::map<void*, int> codes;
    while (seqd_pending(handle.client) > 0) {
      seqd_reply reply = {};
      std::size_t used = 0;
      REQUIRE(seqd_poll(handle.client, 10'000, &reply, sizeof(seqd_reply), 1, &used) == SEQD_OK);
      if (used == 1) codes[reply.tag] = reply.code;
    }
    REQUIRE(codes.size() == 4);
    CHECK((codes[&tags[1]] == SEQD_OK && codes[&tags[3]] == SEQD_OK));
    // Those whose answers were read before the end are known.
    for (int* tag : {&tags[0], &tags[2]})
      CHECK((codes[tag] == SEQD_OK || codes[tag] == SEQD_E_OUTCOME_UNKNOWN));
  }
  daemon.stop();
  CHECK(daemon.wire().inserted.size() == 2);
  CHECK(daemon.wire().complaint() == "");
}

TEST_CASE("WhatIsNoDocumentIsNotSentAndInsertIsNoMethodOfSeqdCall", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  std::int64_t id = 0;
  for (const std::string& wrong :
       {std::string(), std::string("\x90", 1), document('\x07') + "x", std::string("\x81\xa1", 2)})
    CHECK(insert(handle, wrong, id) == SEQD_E_ARGUMENT);
  const std::string bytes = document('\x07');
  CHECK(seqd_insert(handle.client, "people", nullptr, 0, &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_insert(handle.client, "", bytes.data(), bytes.size(), &id) == SEQD_E_ARGUMENT);
  CHECK(seqd_insert(handle.client, "people", bytes.data(), bytes.size(), nullptr) ==
        SEQD_E_ARGUMENT);
  const void* result = nullptr;
  std::size_t length = 0;
  CHECK(seqd_call(handle.client, "insert", nullptr, 0, &result, &length) == SEQD_E_ARGUMENT);
  daemon.stop();
  CHECK(daemon.wire().requests() == 0);
}

}  // namespace seqd::engine

// The C ABI without memory: every allocation of a call fails in its turn, and all that follow. No
// exception leaves, no ID is lost or issued twice, no document is inserted behind an error.
#include <set>
#include <string>
#include <vector>

#include "protocol/replies.h"
#include "tests/adapters/client/client_handle.h"
#include "tests/adapters/client/failing_memory.h"

namespace seqd::engine {
namespace {

using namespace testing;
using Fault = WireDaemon::Fault;

// More than any of these calls allocates; the loops end at the first call that needs fewer.
constexpr int kMostAllocations = 2'000;

const std::string kDocument(
    "\x81\xa1"
    "a\x07");

// Calls with `before` allocations granted. Whether one failed.
template <typename Call>
bool run_short(int before, int& code, Call call) {
  const FailingMemory memory(before);
  code = call();
  return FailingMemory::has_failed();
}

int insert(const Handle& handle) {
  std::int64_t id = 0;
  return seqd_insert(handle.client, "people", kDocument.data(), kDocument.size(), &id);
}

// A daemon that loses the connection at the second request, after it carried it out.
void lose_second(SocketDaemon& daemon) {
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 2 ? Fault::close_after : Fault::none;
  };
  daemon.start();
}

}  // namespace

TEST_CASE("CallWithoutMemoryIsAnErrorAndTheHandleStaysUsable", "[client]") {
  bool failed = true;
  for (int before = 0; failed && before < kMostAllocations; ++before) {
    INFO("allocation " << before);
    SocketDaemon daemon;
    lose_second(daemon);
    Handle handle(daemon);
    CHECK(handle.next() == 1);
    std::int64_t id = 0;
    int code = 0;
    failed = run_short(before, code, [&] { return seqd_next(handle.client, "orders", &id); });
    if (failed && code != SEQD_OK) {
      REQUIRE(code == SEQD_E_MEMORY);
      CHECK(handle.error() == "out of memory");
      CHECK(id == 0);
    } else {
      CHECK(code == SEQD_OK);
      CHECK(id == 2);
    }
    CHECK(handle.next() > id);
    {
      const FailingMemory memory(0);
      seqd_close(std::exchange(handle.client, nullptr));
    }
    daemon.stop();
    CHECK(daemon.wire().complaint() == "");
  }
  CHECK_FALSE(failed);
}

TEST_CASE("PipelineWithoutMemoryLosesNoAnswer", "[client]") {
  bool failed = true;
  for (int before = 0; failed && before < kMostAllocations; ++before) {
    INFO("allocation " << before);
    SocketDaemon daemon;
    lose_second(daemon);
    Handle handle(daemon);
    std::vector<seqd_reply> replies(3);
    std::set<std::int64_t> ids;
    std::size_t submitted = 0;
    std::size_t used = 0;
    const auto keep = [&] {
      for (std::size_t i = 0; i < used; ++i) {
        REQUIRE(replies[i].code == SEQD_OK);
        ids.insert(replies[i].id);
      }
    };
    const auto poll = [&] {
      return seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), replies.size(),
                       &used);
    };
    int code = 0;
    failed = run_short(before, code, [&] {
      for (int i = 0; i < 5; ++i)
        if (seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK) ++submitted;
      return poll();
    });
    CHECK((code == SEQD_OK || code == SEQD_E_MEMORY));
    keep();
    while (seqd_pending(handle.client) > 0) {
      REQUIRE(poll() == SEQD_OK);
      keep();
    }
    CHECK(ids.size() == submitted);
    daemon.stop();
    CHECK(daemon.wire().issued("orders") == static_cast<std::int64_t>(submitted));
    CHECK(daemon.wire().complaint() == "");
  }
  CHECK_FALSE(failed);
}

TEST_CASE("RequestsAllocateNothingOnceTheHandleIsWarm", "[client]") {
  constexpr std::size_t kDepth = 100;
  SocketDaemon daemon;
  daemon.start();
  Handle handle(daemon);
  std::vector<seqd_reply> replies(kDepth);
  const auto pipeline = [&] {
    std::size_t submitted = 0;
    while (submitted < kDepth && seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK)
      ++submitted;
    std::size_t used = 0;
    int code = SEQD_OK;
    for (std::size_t left = submitted; left > 0 && code == SEQD_OK; left -= used)
      code = seqd_poll(handle.client, 10'000, replies.data(), sizeof(seqd_reply), kDepth, &used);
    return submitted == kDepth && code == SEQD_OK;
  };
  const auto one = [&] {
    std::int64_t id = 0;
    return seqd_next(handle.client, "orders", &id) == SEQD_OK && id > 0;
  };
  REQUIRE(one());
  REQUIRE(pipeline());
  bool good = true;
  bool failed = false;
  {
    const FailingMemory memory(0);
    for (int i = 0; i < 500 && good; ++i) good = one();
    for (int i = 0; i < 20 && good; ++i) good = pipeline();
    failed = FailingMemory::has_failed();
  }
  CHECK(good);
  CHECK_FALSE(failed);
}

TEST_CASE("InsertWithoutMemorySaysWhetherTheDocumentMayBeThere", "[client]") {
  bool failed = true;
  for (int before = 0; failed && before < kMostAllocations; ++before) {
    INFO("allocation " << before);
    SocketDaemon daemon;
    daemon.start();
    Handle handle(daemon);
    int code = 0;
    failed = run_short(before, code, [&] { return insert(handle); });
    seqd_close(std::exchange(handle.client, nullptr));
    daemon.stop();
    if (code == SEQD_E_OUTCOME_UNKNOWN) continue;
    REQUIRE((code == SEQD_OK || code == SEQD_E_MEMORY));
    CHECK(daemon.wire().inserted.size() == (code == SEQD_OK ? 1 : 0));
  }
  CHECK_FALSE(failed);
}

TEST_CASE("InsertWhoseAnswerFindsNoMemoryIsUnknown", "[client]") {
  int unknown = 0;
  int code = 0;
  for (int before = 0; code != SEQD_E_DOCUMENT_REFUSED && before < kMostAllocations; ++before) {
    INFO("allocation " << before);
    SocketDaemon daemon;
    protocol::Buffer refusal;
    protocol::append_error_reply(refusal, 1, ErrorCode::DOCUMENT_REFUSED,
                                 "a text that is too long to be kept without memory");
    daemon.wire().garbage = std::string(refusal.text());
    daemon.wire().fault = [](int, const protocol::Message&) { return Fault::garbage; };
    daemon.start();
    Handle handle(daemon);
    (void)run_short(before, code, [&] { return insert(handle); });
    seqd_close(std::exchange(handle.client, nullptr));
    daemon.stop();
    // The request that was sent is the one that may have been carried out.
    if (code == SEQD_E_OUTCOME_UNKNOWN) {
      ++unknown;
      CHECK(daemon.wire().requests() == 1);
    } else if (code == SEQD_E_MEMORY) {
      CHECK(daemon.wire().requests() == 0);
    }
  }
  CHECK(code == SEQD_E_DOCUMENT_REFUSED);
  CHECK(unknown > 0);
}

TEST_CASE("InsertWhoseAnswerWasReadStandsThoughAnotherFindsNoMemory", "[client]") {
  int short_of_memory = 0;
  bool failed = true;
  for (int before = 0; failed && before < kMostAllocations; ++before) {
    INFO("allocation " << before);
    SocketDaemon daemon;
    protocol::Buffer answers;
    protocol::append_id_reply(answers, 2, 7);
    protocol::append_error_reply(answers, 1, ErrorCode::EXHAUSTED,
                                 "a text that is too long to be kept without memory");
    daemon.wire().garbage = std::string(answers.text());
    daemon.wire().fault = [](int, const protocol::Message& message) {
      return message.method == "insert" ? Fault::garbage : Fault::ignore;
    };
    daemon.start();
    Handle handle(daemon);
    REQUIRE(seqd_submit_next(handle.client, "orders", nullptr) == SEQD_OK);
    int code = 0;
    failed = run_short(before, code, [&] { return insert(handle); });
    seqd_close(std::exchange(handle.client, nullptr));
    daemon.stop();
    // The insert is the second request. A caller may repeat an insert that failed with MEMORY.
    if (daemon.wire().requests() >= 2) CHECK((code == SEQD_OK || code == SEQD_E_OUTCOME_UNKNOWN));
    if (failed) ++short_of_memory;
  }
  CHECK_FALSE(failed);
  CHECK(short_of_memory > 0);
}

TEST_CASE("RecoveryThatFindsNoMemoryIsFinishedByTheNextCall", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int, const protocol::Message& message) {
    return message.method == "insert" ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Handle handle(daemon);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(seqd_submit_insert(handle.client, "people", kDocument.data(), kDocument.size(),
                               nullptr) == SEQD_OK);
  }
  CHECK(handle.next() == 1);  // sends the documents, too
  std::int64_t id = 0;
  const std::string name(100, 'n');
  {
    const FailingMemory memory(0);
    CHECK(seqd_next(handle.client, name.c_str(), &id) == SEQD_E_MEMORY);
    CHECK(seqd_ping(handle.client) == SEQD_E_MEMORY);
  }
  seqd_reply replies[3];
  std::size_t used = 0;
  REQUIRE(seqd_poll(handle.client, 0, replies, sizeof(seqd_reply), 3, &used) == SEQD_OK);
  REQUIRE(used == 2);
  CHECK(replies[0].code == SEQD_E_OUTCOME_UNKNOWN);
  CHECK(replies[1].code == SEQD_E_OUTCOME_UNKNOWN);
  CHECK(handle.next() == 2);
}

TEST_CASE("OpeningWithoutMemoryIsAnError", "[client]") {
  bool failed = true;
  for (int before = 0; failed && before < kMostAllocations; ++before) {
    seqd_client* client = nullptr;
    int code = 0;
    failed = run_short(before, code, [&] { return seqd_open(nullptr, &client); });
    CHECK(code == (failed ? SEQD_E_MEMORY : SEQD_OK));
    seqd_close(client);
  }
  CHECK_FALSE(failed);
}

}  // namespace seqd::engine

#include "client-lib/seqctl/live/health.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json status(const json& error) {
  return {{"stores", {{{"name", "main"}, {"state", "down"}, {"error", error}}}}};
}

json row(const char* name, const char* state, std::int64_t available) {
  return {{"name", name},
          {"store", "main"},
          {"state", state},
          {"available", available},
          {"error", nullptr}};
}

Readiness readiness(const json& error, const json& page) {
  Readiness readiness;
  readiness.add_status(status(error));
  readiness.add_page(page);
  return readiness;
}

}  // namespace

TEST_CASE("ADaemonWhoseSequencesCanIssueIsReady", "[client]") {
  const Readiness good = readiness(
      nullptr,
      json::array({row("a", "ready", 5), row("b", "fetching", 0), row("c", "waiting", 0)}));
  CHECK(good.ready());
  CHECK(good.text() == "ready, 3 sequences in use\n");
  CHECK(good.value() ==
        json{{"ready", true}, {"sequences", 3}, {"obstacles", 0}, {"why", json::array()}});
  CHECK(readiness(nullptr, json::array()).ready());
}

TEST_CASE("AStoppedSequenceIsNotReady", "[client]") {
  json stopped = row("a\x1b[2J", "stopped", 5);
  stopped["error"] = "SEQ_REGRESSED: set\nback";
  const Readiness bad = readiness(nullptr, json::array({stopped, row("b", "ready", 5)}));
  CHECK_FALSE(bad.ready());
  CHECK(bad.text() == "not ready: a?[2J is stopped: SEQ_REGRESSED: set?back\n");
  CHECK(bad.value()["obstacles"] == 1);
}

TEST_CASE("AStoreWithAnErrorMattersOnlyWhereNoIdsAreAvailable", "[client]") {
  CHECK(readiness("refused", json::array({row("a", "ready", 1)})).ready());
  const Readiness bad =
      readiness("refused", json::array({row("a", "waiting", 0), row("b", "waiting", 0)}));
  CHECK_FALSE(bad.ready());
  CHECK(bad.text() == "not ready: a has no IDs, and its store main has an error (and 1 more)\n");
  json elsewhere = row("a", "waiting", 0);
  elsewhere["store"] = "other";
  CHECK(readiness("refused", json::array({elsewhere})).ready());
}

// It has no IDs of its own, and the daemon may ask its store for nothing but inserts.
TEST_CASE("ASequenceWhoseInsertsFailIsNotReady", "[client]") {
  json inserting = row("docs", "waiting", 0);
  inserting["reuse"] = nullptr;
  inserting["waiting"] = 3;
  CHECK(readiness(nullptr, json::array({inserting})).ready());
  inserting["error"] = "UNAVAILABLE: away";
  const Readiness bad = readiness(nullptr, json::array({inserting}));
  CHECK_FALSE(bad.ready());
  CHECK(bad.text() == "not ready: docs cannot insert: UNAVAILABLE: away\n");
  // A daemon that was not ready, and gets no requests any more.
  inserting["waiting"] = 0;
  CHECK(readiness(nullptr, json::array({inserting})).ready());
  // Who may not know how many wait.
  inserting["waiting"] = nullptr;
  CHECK(readiness(nullptr, json::array({inserting})).ready());
}

TEST_CASE("WhatIsAvailableIsNoIdBeforeItsStoreHasAnswered", "[client]") {
  json lost = status("UNAVAILABLE: away");
  lost["stores"][0]["state"] = "waiting";
  Readiness bad;
  bad.add_status(lost);
  bad.add_page(json::array({row("a", "ready", 5)}));
  CHECK_FALSE(bad.ready());
  CHECK(bad.text() == "not ready: a waits for the first answer of its store main\n");
  // One that was asked a moment ago is no obstacle.
  lost["stores"][0]["error"] = nullptr;
  Readiness good;
  good.add_status(lost);
  good.add_page(json::array({row("a", "ready", 5)}));
  CHECK(good.ready());
}

TEST_CASE("FewReasonsAreKeptHoweverManyThereAre", "[client]") {
  json page = json::array();
  for (int i = 0; i < 1'000; ++i) page.push_back(row("a", "stopped", 0));
  const Readiness bad = readiness(nullptr, page);
  CHECK(bad.value()["obstacles"] == 1'000);
  CHECK(bad.value()["why"].size() == 10);
}

TEST_CASE("AnAnswerThatIsNotUnderstoodIsNotReady", "[client]") {
  for (const json& answer : {json(nullptr), json("x"), json::array({1}), json{{"stores", 7}}}) {
    Readiness of_status;
    of_status.add_status(answer);
    CHECK_FALSE(of_status.ready());
    CHECK(of_status.text().ends_with("\n"));
  }
  Readiness of_list;
  of_list.add_page("x");
  CHECK_FALSE(of_list.ready());
  CHECK(readiness(nullptr, json::array({1, nullptr, json::object()})).ready());
}

}  // namespace seqd::seqctl

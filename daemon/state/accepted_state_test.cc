// Whatever the running daemon accepted, it can start from: a core on a real log of the smallest
// size, driven by what clients may do, and started again from what is on the disk after each
// rotation.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/text/id_format.h"
#include "tests/unit/running.h"

namespace seqd {
namespace {

struct Client {
  Token identity{};
  ClientId number = 0;
  std::uint32_t next = 1;
};

class Crowd {
 public:
  Crowd(std::uint64_t seed, std::size_t clients) : random_(seed * 31 + 7), running(seed) {
    for (std::size_t at = 0; at < clients; ++at) {
      Client client;
      client.identity[0] = static_cast<std::uint8_t>(at + 1);
      clients_.push_back(client);
    }
    connect();
  }

  void step() {
    if (random_.below(2'000) == 0) careful_ = !careful_;
    switch (random_.below(12)) {
      case 0:
        return running.turn();
      case 1:
        if (random_.below(4) == 0) name_another();
        return;
      case 2:
        if (random_.below(careful_ ? 1 : 300) == 0) acknowledge();
        return;
      case 3:
        while (running.worker.run_one()) continue;
        return;
      case 4:
        if (random_.below(3) > 0) static_cast<void>(running.store.deliver());
        return;
      default:
        return ask();
    }
  }

  void restart() {
    running.restart();
    connect();
    running.settle();
  }

  std::int64_t issued = 0;
  std::int64_t refused = 0;

 private:
  void connect() {
    for (Client& client : clients_) {
      const auto attached =
          running.table->replays().attach(client.identity, 1'000 + client.identity[0] % 3U);
      REQUIRE(attached.ok());
      if (!attached->known) client.next = 1;
      client.number = attached->client;
    }
  }
  void name_another() {
    const std::string name = "n" + std::to_string(names_++) +
                             std::string(static_cast<std::size_t>(random_.below(100)), 'x');
    SequenceSettings& settings = running.settings.add(name);
    settings.lease_min = 1 + random_.below(5);
    settings.lease_max = settings.lease_min;
    settings.max_waiters = 10'000;
    settings.wait_timeout_ms = 3'600'000;
    if (running.table->open(name).ok()) used_.push_back(name);
  }
  void ask() {
    if (used_.empty()) return name_another();
    Client& client = clients_[static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(clients_.size())))];
    const std::string& name = used_[static_cast<std::size_t>(
        random_.below(std::min<std::int64_t>(static_cast<std::int64_t>(used_.size()), 5)))];
    if (!running.log->accepting()) return;
    if (running.table->replays().check(client.number, client.next) != ReplayTable::Seen::fresh) {
      ++refused;
      return;
    }
    const Caller caller{client.identity[0], client.next++, client.number};
    Sequence& sequence = running.table->at(*running.table->open(name));
    const std::int64_t count = random_.below(3) == 0 ? 1 + random_.below(20) : 1;
    std::vector<Run> runs;
    std::int64_t id = 0;
    const bool single = count == 1;
    if (single ? sequence.issue_one(caller, &id) : sequence.issue_many(caller, count, &runs)) {
      ++issued;
      return;
    }
    static_cast<void>(
        sequence.wait(caller, single ? IssueKind::single : IssueKind::batch, count, -1).ok());
  }
  void acknowledge() {
    Client& client = clients_[static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(clients_.size())))];
    running.table->append_issues();
    running.table->replays().acknowledge(
        client.number, client.next - static_cast<std::uint32_t>(random_.below(2)));
  }

  SeededRandom random_;
  std::vector<Client> clients_;
  std::vector<std::string> used_;
  std::int64_t names_ = 0;
  bool careful_ = true;

 public:
  Running running;
};

TEST_CASE("WhateverWasAcceptedCanBeStartedFrom", "[accepted][large]") {
  std::int64_t starts = 0;
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Crowd crowd(seed, seed % 2 == 0 ? 12 : 60);
    for (int at = 0; at < 60'000; ++at) {
      crowd.step();
      if (!std::exchange(crowd.running.rotated, false)) continue;
      ++starts;
      crowd.restart();
    }
    // All that waits is served at once, and then the log has to hold it.
    crowd.running.settle();
    crowd.restart();
    refused += crowd.refused;
  }
  CHECK(starts > 10);
  CHECK(refused > 0);
}

// Twelve clients that took turns at two names filled the start's image
// with an entry for every request, because it did not merge as the running table does.
TEST_CASE("TheImageKeepsNoMoreEntriesThanTheTable", "[accepted]") {
  Running running(1);
  for (const char* name : {"a", "b"}) {
    SequenceSettings& settings = running.settings.add(name);
    settings.lease_min = 10'000;
  }
  std::vector<ClientId> clients;
  for (std::uint8_t who = 1; who <= 12; ++who)
    clients.push_back(running.table->replays().attach(Token{who}, 1'000)->client);
  std::uint32_t request = 1;
  for (int at = 0; at < 200; ++at) {
    // Each client has a name for itself for a while.
    for (std::size_t who = 0; who < 2; ++who) {
      const Caller caller{who + 1, request, clients[who + 2 * static_cast<std::size_t>(at / 40)]};
      Sequence& sequence = running.table->at(*running.table->open(who == 0 ? "a" : "b"));
      std::int64_t id = 0;
      if (!sequence.issue_one(caller, &id))
        REQUIRE(sequence.wait(caller, IssueKind::single, 1, -1).ok());
      running.settle();
    }
    ++request;
  }
  const std::int64_t kept = running.table->replays().entries();
  CHECK(kept < 40);
  running.stop();
  running.start();
  CHECK(running.table->replays().entries() == kept);
}

// Thousands of periods end, and are forgotten, while the log is full and the medium is slow: one
// turn with all of them would end the daemon.
TEST_CASE("PeriodsThatEndTogetherFitTheLogThatWaitsForTheMedium", "[accepted][period]") {
  constexpr std::int64_t kHourMs = 3'600'000;
  constexpr int kNames = 40;
  constexpr int kHours = 60;
  Running running(1, 4 * (std::uint64_t{1} << 20));
  for (int name = 0; name < kNames; ++name) {
    SequenceSettings& settings = running.settings.add("n" + std::to_string(name));
    settings.periods.period = "hour";
    settings.periods.rule = PeriodRule::make("hour", nullptr).value();
    settings.text.format = std::string(200, 'x') + "{number}";
    settings.text.compiled =
        std::make_shared<IdFormat>(read_template(settings.text.format).value(), nullptr, IdKeys());
  }
  for (int hour = 0; hour < kHours; ++hour) {
    for (int name = 0; name < kNames; ++name) {
      const Result<SequenceId> id = running.table->open("n" + std::to_string(name));
      CAPTURE(id.status().to_string());
      REQUIRE(id.ok());
      REQUIRE(running.table->at(*id).wait({1, 1, 0}, IssueKind::single, 1, 600'000).ok());
    }
    running.settle();
    for (int name = 0; name < kNames; ++name) {
      const SequenceId id = running.table->find("n" + std::to_string(name));
      REQUIRE(running.table->admit_text(id).ok());
    }
    running.settle();
    running.time.wall_set_ms += kHourMs;
  }
  REQUIRE(running.table->sequences().size() == kNames * kHours);
  const auto available = [&running] { return running.table->accounts().sums().available; };
  REQUIRE(available() > kNames * kHours);
  // A log whose older half is not on the medium yet, and that takes nothing more.
  const DefineScope scope = running.table->scopes().all().front()->definition();
  const auto fill = [&running, &scope] {
    for (int entries = 0; entries < 50; ++entries) running.log->append(scope);
    running.turn();
  };
  const auto block = [&] {
    while (running.worker.run_one()) continue;
    for (running.rotated = false; !running.rotated;) {
      while (running.worker.run_one()) continue;
      fill();
    }
    while (running.log->accepting()) fill();
  };
  block();
  const std::int64_t before = available();
  for (int looks = 0; looks < 4; ++looks) {
    running.time.advance(60'000);
    running.turn();  // requires that it was written
  }
  CHECK(available() == before);
  while (available() > kNames * 10) {
    running.settle();
    running.time.advance(1'000);
  }
  // Forgotten in the same way.
  running.time.wall_set_ms += 40 * 24 * kHourMs;
  block();
  for (int looks = 0; looks < 4; ++looks) {
    running.time.advance(60'000);
    running.turn();
  }
  CHECK(running.table->sequences().size() == kNames * kHours);
  for (int rounds = 0; rounds < 1'000 && running.table->sequences().size() > kNames; ++rounds) {
    running.settle();
    running.time.advance(1'000);
  }
  CHECK(running.table->sequences().size() == kNames);  // the newest of each
  running.settle();
  running.restart();
  CHECK(running.table->sequences().size() == kNames);
}

}  // namespace
}  // namespace seqd

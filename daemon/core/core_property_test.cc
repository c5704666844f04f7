// Clients that ask, give up, acknowledge and repeat, a store that fails in every way, and a process
// that is killed again and again: no ID is issued twice, and none is lost. CoreWorld checks the
// rest after every turn.
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <vector>

#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using LeaseScript = ScriptedStore::LeaseScript;
using ResolveScript = ScriptedStore::ResolveScript;
using ClaimScript = ScriptedStore::ClaimScript;
using ReturnScript = ScriptedStore::ReturnScript;

const std::vector<std::string> kNames = {"a", "b", "c"};

struct Request {
  std::string name;
  std::int64_t count = 1;
  IssueKind kind = IssueKind::single;
};

// One identity: it repeats what was not answered, and knows what it was given.
struct Client {
  Token identity{};
  ClientId number = 0;
  SessionId session = 0;
  std::uint32_t next_request = 1;
  std::uint32_t acknowledged_below = 1;
  std::map<std::uint32_t, Request> unanswered;
};

class Population {
 public:
  explicit Population(std::uint64_t seed)
      : world_(seed), random_(seed * 7 + 1), returns_(seed % 2 == 0) {
    for (const std::string& name : kNames) {
      SequenceSettings& settings = world_.settings.add(name);
      settings.lease_max = 200;
      settings.max_available = 400;
      settings.max_unsynced = 100;
      // In every other life ranges are returned, and may then be gaps.
      settings.reuse = seed % 2 == 0 ? Reuse::tail : Reuse::never;
    }
    for (std::uint8_t at = 1; at <= 5; ++at) {
      Client client;
      client.identity[0] = at;
      clients_.push_back(client);
    }
    begin();
  }

  void step() {
    switch (random_.below(20)) {
      case 0:
        return random_.below(4) == 0 ? kill() : world_.turn();
      case 1:
        return take(), world_.advance(random_.below(300));
      case 2:
      case 3:
        if (random_.below(6) == 0) script();
        static_cast<void>(world_.store.deliver());
        return;
      case 4:
        return world_.log.begin_flush();
      case 5:
        return world_.log.end_flush(*world_.table);
      case 6:
        return acknowledge();
      case 7:
      case 8:
        return world_.turn();
      case 9:
        return finish_turn();
      case 10:
        if (random_.below(40) == 0) reconnect(any());
        if (returns_ && random_.below(10) == 0) drain();
        return;
      default:
        return ask();
    }
  }

  // Everything is answered and nothing moves any more.
  void finish() {
    world_.store.leases.clear();
    world_.store.resolutions.clear();
    world_.store.claims.clear();
    world_.store.returns.clear();
    for (int round = 0; round < 1'000 && waiting(); ++round) {
      world_.settle();
      take();
      for (Client& client : clients_) reconnect(client);
      world_.advance(1'000);
    }
    // A lease that nobody waits for any more may still be looked up after a pause.
    for (int round = 0; round < 10; ++round) {
      world_.advance(10'000);
      world_.settle();
    }
    REQUIRE_FALSE(waiting());
  }

  // Every ID up to the highest that was leased was received once, is available, or is of a lease
  // that cannot be traced.
  void require_no_gap() {
    for (const std::string& name : kNames) {
      std::vector<std::int64_t>& ids = received_[name];
      std::sort(ids.begin(), ids.end());
      REQUIRE(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
      const Sequence& sequence = world_.sequence(name);
      REQUIRE(static_cast<std::int64_t>(ids.size()) == sequence.totals().issued);
      const SequenceTotals& totals = sequence.totals();
      returned += totals.returned;
      REQUIRE(totals.unknown == 0);
      REQUIRE(sequence.slot().returning() == 0);
      REQUIRE(totals.leased - totals.returned == world_.store.next_id[name] - 1);
      REQUIRE((totals.gaps == 0 || returns_));
      if (totals.gaps > 0) continue;
      for (std::size_t at = 0; at < ids.size(); ++at) {
        REQUIRE(ids[at] == static_cast<std::int64_t>(at) + 1);
      }
    }
  }

  std::int64_t kills = 0;
  std::int64_t repeats = 0;
  std::int64_t answers = 0;
  std::int64_t returned = 0;

 private:
  Client& any() { return clients_[static_cast<std::size_t>(random_.below(5))]; }

  bool waiting() const {
    return std::any_of(clients_.begin(), clients_.end(),
                       [](const Client& client) { return !client.unanswered.empty(); });
  }

  void begin() {
    world_.start();
    for (Client& client : clients_) reconnect(client);
  }

  void kill() {
    ++kills;
    world_.kill();
    // Replies that were sent may be lost on their way, with the connection.
    if (random_.below(2) == 0) {
      world_.answers.sent.clear();
    } else {
      take();
    }
    begin();
  }

  void reconnect(Client& client) {
    if (client.session != 0 && world_.table->budgets().waiting() > 0)
      world_.table->cancel(client.session);
    // What was sent to the connection before is lost.
    std::erase_if(world_.answers.staged,
                  [&](const Answer& answer) { return answer.caller.session == client.session; });
    std::erase_if(world_.answers.sent,
                  [&](const Answer& answer) { return answer.caller.session == client.session; });
    client.session = ++sessions_;
    world_.table->append_issues();
    client.number = world_.table->replays().attach(client.identity, 1'000)->client;
    for (const auto& [number, request] : client.unanswered) send(client, number, request);
  }

  void send(Client& client, std::uint32_t number, const Request& request) {
    const Caller caller{client.session, number, client.number};
    if (world_.table->replays().check(client.number, number) == ReplayTable::Seen::repeat) {
      ++repeats;
      std::vector<Run> runs;
      for (const Issued& issue : world_.table->replays().find(client.number, number)) {
        runs.push_back({issue.begin, issue.end - issue.begin, 1});
      }
      world_.answers.staged.push_back({caller, request.kind, runs, {}});
      return;
    }
    if (request.kind == IssueKind::single) {
      if (const auto id = world_.next(request.name, caller, 60'000)) {
        world_.answers.staged.push_back({caller, request.kind, {{*id, 1, 1}}, {}});
      }
    } else if (const auto runs = world_.range(request.name, request.count, caller, 60'000)) {
      world_.answers.staged.push_back({caller, request.kind, *runs, {}});
    }
    if (!world_.status.ok()) {
      world_.answers.staged.push_back({caller, request.kind, {}, world_.status});
    }
  }

  void ask() {
    Client& client = any();
    if (client.unanswered.size() > 20) return;
    Request request;
    request.name = kNames[static_cast<std::size_t>(random_.below(3))];
    if (random_.below(5) == 0) {
      request.kind = IssueKind::batch;
      request.count = 1 + random_.below(random_.below(10) == 0 ? 300 : 20);
    }
    const std::uint32_t number = client.next_request++;
    client.unanswered[number] = request;
    send(client, number, request);
  }

  void drain() {
    const SequenceId id = world_.table->find(kNames[static_cast<std::size_t>(random_.below(3))]);
    if (id == 0) return;
    if (random_.below(3) == 0) {
      const bool applied = random_.below(2) == 0;
      world_.store.returns.push_back(
          {applied ? ReturnScript::Kind::failed_applied : ReturnScript::Kind::failed_lost});
    }
    // One that cannot be begun changes nothing.
    static_cast<void>(
        world_.table->orders().drain(id, random_.below(20'000), [](const DrainReport&) {}).ok());
  }

  void finish_turn() {
    world_.turn();
    take();
  }

  void take() {
    for (const Answer& answer : std::exchange(world_.answers.sent, {})) {
      Client& client = *std::find_if(clients_.begin(), clients_.end(), [&](const Client& one) {
        return one.session == answer.caller.session;
      });
      const auto found = client.unanswered.find(answer.caller.request);
      REQUIRE(found != client.unanswered.end());
      ++answers;
      // A request that failed was issued nothing: its number is not used again.
      if (answer.status.ok()) {
        std::int64_t count = 0;
        for (const Run& run : answer.runs) {
          count += run.count;
          for (std::int64_t at = 0; at < run.count; ++at) {
            received_[found->second.name].push_back(run.first + at);
          }
        }
        REQUIRE(count == found->second.count);
      }
      client.unanswered.erase(found);
    }
  }

  void acknowledge() {
    Client& client = any();
    const std::uint32_t below =
        client.unanswered.empty() ? client.next_request : client.unanswered.begin()->first;
    world_.table->append_issues();
    world_.table->replays().acknowledge(client.number, below);
  }

  // The store's next answer is one of those that nobody likes.
  void script() {
    const Status away(ErrorCode::UNAVAILABLE, "away");
    const Status denied(ErrorCode::STORE_REFUSED, "denied");
    switch (random_.below(6)) {
      case 0:
        return world_.store.leases.push_back({LeaseScript::Kind::refuse, away, 0, 0});
      case 1:
        return world_.store.leases.push_back({LeaseScript::Kind::refuse, denied, 0, 0});
      case 2:
        return world_.store.leases.push_back({LeaseScript::Kind::unknown_applied, away, 0, 0});
      case 3:
        return world_.store.leases.push_back({LeaseScript::Kind::unknown_lost, away, 0, 0});
      case 4:
        return world_.store.resolutions.push_back({ResolveScript::Kind::failed, away, 0, 0});
      default:
        return world_.store.claims.push_back({ClaimScript::Kind::failed_applied, away});
    }
  }

  CoreWorld world_;
  SeededRandom random_;
  const bool returns_;
  std::vector<Client> clients_;
  SessionId sessions_ = 0;
  std::map<std::string, std::vector<std::int64_t>> received_;
};

// What happened in some lives: a test in which nothing happens proves nothing.
struct Happened {
  std::int64_t events = 0;
  std::int64_t kills = 0;
  std::int64_t repeats = 0;
  std::int64_t answers = 0;
  std::int64_t returned = 0;
};

void live(std::uint64_t seed, int events, Happened& happened) {
  CAPTURE(seed);
  Population population(seed);
  for (int at = 0; at < events; ++at) population.step();
  population.finish();
  population.require_no_gap();
  happened.events += events;
  happened.kills += population.kills;
  happened.repeats += population.repeats;
  happened.answers += population.answers;
  happened.returned += population.returned;
}

void require_a_life(const Happened& happened) {
  REQUIRE(happened.kills > happened.events / 200);
  REQUIRE(happened.repeats > happened.events / 1'000);
  REQUIRE(happened.answers > happened.events / 10);
}

TEST_CASE("NoIdIsLostOrIssuedTwiceWhateverHappens", "[property]") {
  Happened happened;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) live(seed, 5'000, happened);
  require_a_life(happened);
  REQUIRE(happened.returned > 1'000);
}

TEST_CASE("NoIdIsLostOrIssuedTwiceWithAFreshSeed", "[property]") {
  Happened happened;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t seed = std::random_device{}();
    std::cout << "core property seed " << seed << std::endl;
    live(seed, 5'000, happened);
  }
  require_a_life(happened);
}

}  // namespace
}  // namespace seqd

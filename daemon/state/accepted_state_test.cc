// Whatever the running daemon accepted, it can start from: a core on a real log of the smallest
// size, driven by what clients may do, and started again from what is on the disk after each
// rotation.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/core/log/state_bounds.h"
#include "daemon/core/log/state_room.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/core/text/id_format.h"
#include "daemon/state/log_format.h"
#include "daemon/state/segment_writer.h"
#include "daemon/state/start.h"
#include "tests/unit/small_daemon.h"
#include "tests/unit/world.h"

namespace seqd {
namespace {

constexpr std::uint64_t kLogSize = StateLog::smallest_size;

// A core on a StateLog: its disk, its store and its clients stay when it is started again.
class Running final : public RemainderLogObserver {
 public:
  explicit Running(std::uint64_t seed, std::uint64_t size = kLogSize) : random(seed) {
    resize(size);
    start();
  }
  ~Running() override { stop(); }

  // Of the log, from the next start on.
  void resize(std::uint64_t size) {
    state_log_size = size;
    limits.sequences = 100'000;
    const StateBounds bounds(size);
    limits.state_bytes = bounds.sequence_bytes();
    limits.replays.clients = bounds.clients();
    limits.replays.issues = bounds.issues();
  }
  void start() {
    StartOptions options;
    options.state_log_size = state_log_size;
    options.boot_id = world.boot_id;
    state = world.disk.open("state");
    witness = world.disk.open("run");
    Result<Started> result =
        seqd::start({*state, *witness, worker, world.random, world.clock}, options);
    CAPTURE(result.status().to_string());
    REQUIRE(result.ok());
    log = std::move(result->log);
    rotations = 0;
    table = std::make_unique<SequenceTable>(CoreContext{time, time, random, *log, events, replies},
                                            settings, SequenceTable::Stores{{"default", &store}},
                                            limits);
    log->attach(this, table.get());
    table->restore(result->image);
    turn();
  }
  void stop() {
    table.reset();
    log.reset();
    worker.jobs.clear();
    store.drop_pending();
    world.kill();
  }
  void restart() {
    stop();
    start();
  }

  void turn() {
    table->end_turn();
    const Status written = log->commit();
    CAPTURE(written.to_string());
    REQUIRE(written.ok());
    if (log->statistics().rotations == rotations) return;
    rotations = log->statistics().rotations;
    rotated = true;
  }
  void settle() {
    for (int round = 0; round < 50; ++round) {
      turn();
      while (worker.run_one()) continue;
      while (store.deliver()) continue;
    }
  }

  void durable(LogPosition position) override { table->durable(position); }
  void flush_failed(const Status& status) override { FAIL(status.to_string()); }

  World world;
  std::uint64_t state_log_size = 0;
  SeededRandom random;
  VirtualTime time;
  RecordedEvents events;
  RecordedReplies replies;
  ConfiguredSequences settings;
  SequenceTable::Limits limits;
  ScriptedStore store;
  std::unique_ptr<Directory> state, witness;
  ManualWorker worker;
  std::unique_ptr<StateLog> log;
  std::unique_ptr<SequenceTable> table;
  std::uint64_t rotations = 0;
  bool rotated = false;
};

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
    running.table->flush_issues();
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

TEST_CASE("WhateverWasAcceptedCanBeStartedFrom", "[accepted]") {
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

// The snapshot of today fits the smaller log, that of a day on which every sequence has two ranges
// and a lease under way does not: the daemon would end at a rotation.
TEST_CASE("ALogThatWasMadeSmallerIsRefusedWhereARotationCouldFail", "[accepted]") {
  const std::uint64_t large = 4 * kLogSize;
  Running running(1, large);
  for (int at = 0;; ++at) {
    const std::string name = "a-name-of-some-length-" + std::to_string(at);
    running.settings.add(name);
    const Result<SequenceId> opened = running.table->open(name);
    if (opened.status().code() == ErrorCode::BUSY) break;
    REQUIRE(opened.ok());
    if (at % 100 == 0) running.settle();
  }
  running.settle();
  CHECK(check_state_room(running.table->accounts(), large).ok());
  running.stop();
  running.resize(kLogSize);
  running.start();
  const Status refused = check_state_room(running.table->accounts(), kLogSize);
  REQUIRE(refused.code() == ErrorCode::CONFIG);
  CAPTURE(refused.text());
  const std::size_t at = refused.text().find("set state_log_size to ");
  REQUIRE(at != std::string::npos);
  const std::uint64_t enough = std::stoull(refused.text().substr(at + 22)) * 1'024;
  CHECK(enough > kLogSize);
  CHECK(enough <= large + 64 * 1'024);
  running.stop();
  running.resize(enough);
  running.start();
  CHECK(check_state_room(running.table->accounts(), enough).ok());
  // And it holds, whatever comes.
  for (const Sequence* sequence : running.table->list())
    REQUIRE(running.table->at(sequence->id()).wait({1, 1, 0, 1}, IssueKind::single, 1, -1).ok());
  running.settle();
  CHECK(running.table->accounts().sums().issued ==
        static_cast<std::int64_t>(running.table->size()));
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

// Formats of names change until the log has no room for another form; before and behind a restart
// the same is counted.
TEST_CASE("FormsOfTextsAreCountedInTheState", "[accepted]") {
  Running running(1);
  std::int64_t admitted = 0;
  std::int64_t busy = 0;
  for (int at = 0; at < 60; ++at) {
    const std::string name = "n" + std::to_string(at);
    running.settings.add(name);
    const Result<SequenceId> id = running.table->open(name);
    if (!id.ok()) {
      CHECK(id.status().code() == ErrorCode::BUSY);
      continue;
    }
    for (std::size_t form = 0; form < DefineName::kMostForms; ++form) {
      IdFormatSettings& text = running.settings.by_name[name].text;
      text.format =
          std::string(1, static_cast<char>('a' + form)) + std::string(190, 'x') + "{number}";
      text.compiled =
          std::make_shared<IdFormat>(read_template(text.format).value(), nullptr, IdKeys());
      running.table->apply_settings(running.limits);
      const Status status = running.table->admit_text(*id);
      CAPTURE(status.to_string());
      CHECK((status.ok() || status.code() == ErrorCode::BUSY));
      (status.ok() ? admitted : busy) += 1;
      running.settle();
    }
  }
  CAPTURE(admitted, running.table->size(), running.table->accounts().state_bytes());
  CHECK(admitted > 50);
  CHECK(busy > 0);
  CHECK(std::exchange(running.rotated, false));
  const std::int64_t counted = running.table->accounts().state_bytes();
  CHECK(counted <= running.limits.state_bytes);
  running.restart();
  running.settle();
  CHECK(running.table->accounts().state_bytes() == counted);
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
      REQUIRE(running.table->admit_text(*id).ok());
      REQUIRE(running.table->at(*id).wait({1, 1, 0}, IssueKind::single, 1, 600'000).ok());
    }
    running.settle();
    running.time.wall_set_ms += kHourMs;
  }
  REQUIRE(running.table->size() == kNames * kHours);
  const auto available = [&running] { return running.table->accounts().sums().available; };
  REQUIRE(available() > kNames * kHours);
  // A log whose older half is not on the medium yet, and that takes nothing more.
  const DefineScope scope = running.table->scopes().begin()->second->definition();
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
  CHECK(running.table->size() == kNames * kHours);
  for (int rounds = 0; rounds < 1'000 && running.table->size() > kNames; ++rounds) {
    running.settle();
    running.time.advance(1'000);
  }
  CHECK(running.table->size() == kNames);  // the newest of each
  running.settle();
  running.restart();
  CHECK(running.table->size() == kNames);
}

TEST_CASE("AnEntryOfEveryKindTakesNoMoreThanItIsCountedWith", "[accepted]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Token token;
  token.fill(0xff);
  const auto bytes = [](const LogEntry& entry) {
    std::vector<std::uint8_t> out;
    encode_entry(out, entry);
    return static_cast<std::int64_t>(out.size());
  };
  const std::int64_t range = bytes(AvailableRange{kLastSequence, token, 0, most, most});
  CHECK(range <= StateBounds::kRangeBytes);
  // A block is counted as two ranges.
  CHECK(range + bytes(BlockGranted{kLastSequence, kLastClient, 63, 0xffff'ffff, 0, most}) <=
        2 * StateBounds::kRangeBytes);
  CHECK(bytes(BlockEnded{kLastSequence, kLastClient, 63, 0, most}) <= StateBounds::kBlockEndBytes);
  const std::int64_t issue = bytes(RetainedIssue{
      Issued{kLastSequence, 1, most, kLastClient, 0xffff'ffff, IssueKind::text, most}});
  CHECK(issue <= StateBounds::kIssueBytes);
  CHECK(bytes(DefineClient{kLastClient, token}) + bytes(ClientUser{kLastClient, 0xffff'fffe}) +
            bytes(Acknowledged{kLastClient, 0xffff'ffff}) <=
        StateBounds::kClientBytes);
  CHECK(bytes(DefineScope{kLastSequence, std::string(64, 'x'), token,
                          std::numeric_limits<std::uint64_t>::max(), ScopeState::owned, token}) +
            bytes(StoreBound{kLastSequence, token, std::string(230, 'x')}) +
            bytes(StoreHeartbeat{kLastSequence, token, most, StoreAge::restored}) <=
        StateBounds::kScopeBytes);
  const std::int64_t returning =
      range + bytes(ReturnOpened{kLastSequence, token, 0, most, Reuse::tail, most});
  const std::int64_t leasing = range + bytes(LeaseIntended{kLastSequence, token, most, most});
  CHECK(bytes(DefineSequence{kLastSequence, kLastSequence, "", "", most}) +
            bytes(SequenceTotals{kLastSequence, most, most, most, most, most}) +
            bytes(UsedBelow{kLastSequence, most}) + StateBounds::kRangesIncluded * range +
            std::max(returning, leasing) + issue <=  // that of the turn, not recorded yet
        StateBounds::kSequenceBytes);
  const DefineName name{"", least, {4, {least, most, least}}, {}};
  CHECK(bytes(name) + 2 <= StateBounds::kNameBytes);  // the length of a name takes up to 3
  DefineName with_form = name;
  with_form.forms.assign(DefineName::kMostForms, std::string(0xffff, 'x'));
  CHECK(bytes(with_form) - bytes(name) <=
        static_cast<std::int64_t>(DefineName::kMostForms) * (StateBounds::kFormBytes + 0xffff));
}

}  // namespace
}  // namespace seqd

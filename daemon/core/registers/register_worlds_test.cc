// Worlds of hosts that share a register, and of programs that save documents under their keys: they
// repeat a request after every failure, on any host, and cancel numbers that they did not save.
// Hosts are killed, answers are lost, writes arrive late. At the end the register is 1..n, and the
// documents agree with it.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/registers/register_queue.h"
#include "tests/unit/memory_register.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Kind = RegisterAnswer::Kind;
using Wants = RegisterQueue::Wanted::Kind;
using Fault = MemoryRegister::Fault;

// The connection of one host to the store. Answers that arrive after the host was killed are
// dropped.
class Link final : public RegisterStore {
 public:
  explicit Link(MemoryRegister& store) : store_(store) {}
  void read_register(const RegisterQuery& query,
                     std::function<void(Result<RegisterReading>)> done) override {
    store_.read_register(query, guarded(std::move(done)));
  }
  void write_register(const RegisterWrite& write,
                      std::function<void(RegisterOutcome)> done) override {
    store_.write_register(write, guarded(std::move(done)));
  }
  void list_register(const RegisterPageQuery& query,
                     std::function<void(Result<std::vector<NumberRecord>>)> done) override {
    store_.list_register(query, guarded(std::move(done)));
  }

 private:
  template <typename Answer>
  std::function<void(Answer)> guarded(std::function<void(Answer)> done) {
    return [alive = std::weak_ptr(alive_), done = std::move(done)](Answer answer) {
      if (!alive.expired()) done(std::move(answer));
    };
  }
  MemoryRegister& store_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

struct Host {
  Host(const CoreContext& context, const SettingsSource& settings, MemoryRegister& store,
       bool refills)
      : link(store),
        queue(context, settings, accounts, "invoices", link,
              {[] {
                 RegisterPlace place;
                 place.binding.key = "invoices";
                 return Result<RegisterPlace>(place);
               },
               [](std::int64_t number, std::int64_t /*wall_ms*/) { return std::to_string(number); },
               refills ? [](const NumberRecord&, std::int64_t) { return true; }
                       : std::function<bool(const NumberRecord&, std::int64_t)>()}) {}
  InsertAccounts accounts;
  Link link;
  RegisterQueue queue;
};

// A document that is to be saved under its key.
struct Document {
  std::int64_t number = 0;  // that a program was answered and has not saved; 0: none
  std::int64_t saved = 0;
  int asking = 0;  // programs that wait for an answer
  std::int64_t cancelling = 0;
};

struct World {
  static constexpr std::size_t kHosts = 3;
  World(std::uint64_t seed, bool may_refill) : random(seed), refills(may_refill) {
    settings.add("invoices").wait_timeout_ms = 500;
    for (std::size_t at = 0; at < kHosts; ++at) kill(at);
  }

  std::uint64_t roll(std::uint64_t below) { return random.next() % below; }
  // Its programs hear nothing. All programs end: they ask again, any host, when they like.
  void kill(std::size_t at) {
    ++generation;
    for (auto& [key, document] : documents) document.asking = 0;
    hosts[at] = std::make_unique<Host>(context, settings, store, refills);
  }
  void ask(Wants kind, const std::string& key, std::int64_t number) {
    RegisterQueue::Wanted wanted;
    wanted.kind = kind;
    wanted.key = key;
    wanted.number = number;
    wanted.session = 1;
    wanted.done = [this, kind, key, number,
                   asked = generation](const Result<RegisterAnswer>& answer) {
      if (asked != generation) return;
      Document& document = documents[key];
      if (kind == Wants::assign) --document.asking;
      if (!answer.ok()) return;
      if (kind == Wants::assign) {
        REQUIRE(answer->kind == Kind::done);
        REQUIRE(answer->record.key == key);
        if (document.saved != 0) REQUIRE(answer->record.number == document.saved);
        document.number = answer->record.number;
      } else if (kind == Wants::cancel) {
        REQUIRE(answer->kind == Kind::done);
        document.cancelling = 0;
      } else {
        REQUIRE((answer->kind == Kind::done && answer->record.number == number));
      }
    };
    if (kind == Wants::assign) ++documents[key].asking;
    if (!hosts[roll(kHosts)]->queue.add(std::move(wanted)).ok() && kind == Wants::assign)
      --documents[key].asking;
  }
  void step() {
    const std::string key = "order-" + std::to_string(roll(12));
    Document& document = documents[key];
    switch (roll(8)) {
      case 0:
      case 1:
        if (document.cancelling == 0) ask(Wants::assign, key, 0);
        break;
      case 2:  // a program saves what it was answered, once
        if (document.number != 0 && document.saved == 0 && document.cancelling == 0)
          document.saved = document.number;
        break;
      case 3:
        if (document.saved != 0) ask(Wants::confirm, key, document.saved);
        break;
      case 4:  // not saved, and marked as cancelled first: no program saves it after that
        if (document.saved == 0 && document.number != 0 && document.asking == 0 && roll(3) == 0)
          document.cancelling = std::exchange(document.number, 0);
        if (document.cancelling != 0) ask(Wants::cancel, key, document.cancelling);
        break;
      case 5:
        store.deliver();
        break;
      case 6:
        time.advance(static_cast<std::int64_t>(roll(40)));
        break;
      case 7:
        if (roll(12) == 0) kill(roll(kHosts));
        if (roll(4) == 0) store.faults.push_back(static_cast<Fault>(roll(5)));
        if (roll(4) == 0) store.apply_late();
        break;
    }
  }
  void settle() {
    store.faults.clear();
    for (int turn = 0; turn < 2'000; ++turn) {
      while (store.deliver()) {
      }
      time.advance(20);
    }
    while (store.apply_late()) {
    }
  }
  void check() {
    std::map<std::string, std::int64_t> numbers;
    std::int64_t next = 1;
    for (const auto& [place, record] : store.records) {
      REQUIRE(record.number == next++);
      REQUIRE(record.text == std::to_string(record.number));
      if (!record.key.empty()) REQUIRE(numbers.emplace(record.key, record.number).second);
      std::set<std::string> keys{record.key};
      for (const FormerKey& former : record.former) REQUIRE(keys.insert(former.key).second);
    }
    std::set<std::int64_t> saved;
    for (const auto& [key, document] : documents) {
      if (document.saved == 0) continue;
      CAPTURE(key);
      REQUIRE(numbers.at(key) == document.saved);
      REQUIRE(saved.insert(document.saved).second);
    }
  }

  VirtualTime time;
  SeededRandom random;
  const bool refills;
  int generation = 0;  // of the programs
  RecordedEvents events;
  RecordedReplies replies;
  MemoryLog log;
  ConfiguredSequences settings;
  MemoryRegister store;
  CoreContext context{time, time, random, log, events, replies, nullptr};
  std::map<std::string, Document> documents;
  std::unique_ptr<Host> hosts[kHosts];
};

TEST_CASE("DocumentsAndRegisterAgreeWhateverFails", "[register]") {
  std::int64_t numbers = 0;
  std::size_t saved = 0;
  std::size_t cancelled = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    World world(seed, seed % 2 == 0);
    for (int step = 0; step < 600; ++step) world.step();
    world.settle();
    world.check();
    numbers += static_cast<std::int64_t>(world.store.records.size());
    for (const auto& [key, document] : world.documents) saved += document.saved != 0 ? 1 : 0;
    for (const auto& [place, record] : world.store.records) cancelled += record.former.size();
  }
  // They did meet each other.
  CHECK((numbers > 3'000 && saved > 2'000 && cancelled > 300));
}

}  // namespace
}  // namespace seqd

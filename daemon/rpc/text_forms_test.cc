// What becomes of texts when the format, the key or the periods change: no text twice.
#include <memory>
#include <string>

#include "daemon/core/names/id_form.h"
#include "daemon/core/text/id_format.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;

// No cipher, but another permutation for each key.
class ToyCipher final : public BlockCipher {
 public:
  explicit ToyCipher(std::uint8_t key) : key_(key) {}
  void encrypt(CipherBlock& block) const override {
    std::uint32_t state = key_;
    for (int round = 0; round < 4; ++round) {
      for (std::uint8_t& byte : block) {
        state = (state ^ byte) * 0x01000193U + 0x9e3779b9U;
        byte = static_cast<std::uint8_t>(state >> 24);
      }
    }
  }

 private:
  const std::uint8_t key_;
};

std::shared_ptr<const BlockCipher> key(std::uint8_t number) {
  return std::make_shared<ToyCipher>(number);
}

struct FormService : Service {
  void set(const std::string& format, const IdKeys& keys = {}, const std::string& period = "") {
    SequenceSettings& settings = world.core.settings.add("ids");
    settings.text.format = format;
    auto made = std::make_shared<IdFormat>(read_template(format).value(), nullptr, keys);
    settings.periods = PeriodSettings();
    if (!period.empty()) {
      settings.periods.period = period;
      settings.periods.rule = PeriodRule::make(period, nullptr).value();
      made->set_periods(settings.periods.rule);
    }
    settings.text.compiled = std::move(made);
  }
  void reload() { world.core.table->apply_settings(world.core.limits); }
  void restart() {
    world.kill();
    world.start();
    world.settle();
    line = &world.connect();
  }
  Reply next_text() { return ask(request("next_text", "ids")); }
  std::string text() {
    const Reply reply = next_text();
    INFO(reply.text);
    REQUIRE(reply.code == ErrorCode::OK);
    return std::string(reply.result().read_text().value());
  }
  Reply parse(const std::string& text) {
    protocol::Buffer params;
    protocol::append_text(params, text);
    return ask(request("parse", "ids", 2, {params.data(), params.size()}));
  }
  std::int64_t number_of(const std::string& text) {
    const Reply reply = parse(text);
    INFO(reply.text);
    REQUIRE(reply.code == ErrorCode::OK);
    protocol::ValueReader reader = reply.result();
    REQUIRE(reader.read_map());
    REQUIRE(reader.read_text() == "number");
    return reader.read_integer().value();
  }
};

TEST_CASE("FormatThatMayGiveAFormerTextIsRefusedAtTheReloadAndAtTheRestart", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  CHECK(service.text() == "000001");
  service.set("{number:6,base16}");
  for (const bool restarts : {false, true}) {
    restarts ? service.restart() : service.reload();
    const Reply refused = service.next_text();
    CHECK(refused.code == ErrorCode::SEQ_CHANGED);
    CHECK(refused.text.find("\"{number:6,base16}\"") != std::string::npos);
    CHECK(refused.text.find("\"{number:6}\"") != std::string::npos);
    // The numbers go on, and none was taken in vain.
    CHECK(service.ask(next_request(0, "ids")).id() == (restarts ? 3 : 2));
  }
  service.set("H{number:6,base16}");
  service.reload();
  CHECK(service.text() == "H000004");
  // Every former form counts, not the last one alone.
  service.set("{number:6,base16}");
  service.restart();
  CHECK(service.next_text().code == ErrorCode::SEQ_CHANGED);
  service.set("{number:6}");
  service.reload();
  CHECK(service.text() == "000005");
}

TEST_CASE("FormatOfASequenceThatGaveNoTextMayBecomeAny", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  CHECK(service.ask(next_request(0, "ids")).id() == 1);
  service.set("{number:6,base16}");
  service.restart();
  CHECK(service.text() == "000002");
}

// A form that a power cut takes away is compared with nothing: its texts must not be out.
TEST_CASE("FirstTextOfAFormWaitsUntilTheFormIsOnTheMedium", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  REQUIRE(service.ask(next_request(0, "ids")).id() == 1);
  const auto durable_forms = [&service] {
    const auto& names = service.world.core.log.durable_image.names;
    const auto found = names.find("ids");
    return found == names.end() ? 0 : found->second.forms.size();
  };
  for (const std::size_t forms : {0U, 1U}) {
    REQUIRE(durable_forms() == forms);
    service.world.send(*service.line, request("next_text", "ids"));
    service.world.turn();
    REQUIRE(durable_forms() == forms);
    CHECK(service.line->replies().empty());
    service.world.settle();
    CHECK(durable_forms() == forms + 1);
    const std::vector<Reply> replies = service.line->replies();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].result().read_text() == (forms == 0 ? "000002" : "H000004"));
    // The next one does not wait.
    service.world.send(*service.line, request("next_text", "ids"));
    service.world.turn();
    CHECK(service.line->replies().size() == 1);
    service.set("H{number:6}");
    service.reload();
    service.world.settle();
  }
}

// The second one has nothing to record, so that no later record may be what it waits for.
TEST_CASE("TwoFirstTextsWithinOneFlushAreToldWhenTheFormIsOnTheMedium", "[text_forms]") {
  FormService service;
  service.set("A-{number:6}");
  REQUIRE(service.ask(next_request(0, "ids")).id() == 1);
  Line& other = service.world.connect();
  service.world.send(*service.line, request("next_text", "ids"));
  service.world.turn();
  service.world.core.log.begin_flush();
  service.world.send(other, request("next_text", "ids"));
  service.world.turn();
  CHECK(service.line->replies().empty());
  CHECK(other.replies().empty());
  service.world.core.log.end_flush(*service.world.core.table);
  service.world.turn();
  for (const auto& [line, text] : {std::pair{service.line, "A-000002"}, {&other, "A-000003"}}) {
    const std::vector<Reply> replies = line->replies();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].result().read_text() == text);
  }
  service.world.send(*service.line, next_request(1, "ids"));
  service.world.turn();
  CHECK(service.line->replies().size() == 1);
}

// The texts of two periods have one form.
TEST_CASE("FirstTextsOfTwoPeriodsWithinOneFlushAreToldWhenTheFormIsOnTheMedium", "[text_forms]") {
  FormService service;
  service.set("{date:%y%m%d}-{number}", {}, "day");
  REQUIRE(service.ask(next_request(0, "ids")).id() == 1);
  service.world.core.time.wall_set_ms += 2 * kHourMs;
  REQUIRE(service.ask(next_request(0, "ids")).id() == 1);
  service.world.core.time.wall_set_ms -= 2 * kHourMs;
  Line& other = service.world.connect();
  service.world.send(*service.line, request("next_text", "ids"));
  service.world.turn();
  service.world.core.log.begin_flush();
  service.world.core.time.wall_set_ms += 2 * kHourMs;
  service.world.send(other, request("next_text", "ids"));
  service.world.turn();
  service.world.core.log.end_flush(*service.world.core.table);
  service.world.turn();
  for (const auto& [line, text] : {std::pair{service.line, "231114-2"}, {&other, "231115-2"}}) {
    const std::vector<Reply> replies = line->replies();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].result().read_text() == text);
  }
}

TEST_CASE("TextsThatWaitWhileTheFormatChangesAreRefusedAndUseNoId", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  CHECK(service.text() == "000001");
  const SequenceId id = service.world.core.table->find("ids");
  const std::int64_t available = service.world.core.table->at(id).available();
  service.world.send(*service.line, range_request(7, "ids", available + 1));
  for (int texts = 0; texts < 3; ++texts)
    service.world.send(*service.line, request("next_text", "ids"));
  service.world.turn();
  REQUIRE(service.world.core.table->at(id).waiters().size() == 4);
  service.set("{number:6,base16}");
  service.reload();
  service.world.settle();
  std::int64_t refused = 0;
  for (const Reply& reply : service.line->replies())
    refused += reply.code == ErrorCode::SEQ_CHANGED ? 1 : 0;
  CHECK(refused == 3);
  CHECK(service.world.core.table->at(id).totals().issued == available + 2);
}

// Who is refused for another reason has not got what is missing.
TEST_CASE("ATextThatIsRefusedLeavesWhatOthersHaveFailedFor", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  CHECK(service.text() == "000001");
  CoreWorld& core = service.world.core;
  const Sequence& ids = core.table->at(core.table->find("ids"));
  const std::int64_t missing = ids.available() + 1'000;
  using Kind = ScriptedStore::LeaseScript::Kind;
  core.store.leases.assign(100, {Kind::refuse});
  core.store.leases.front() = {.kind = Kind::grant, .late = true};
  service.world.send(*service.line, range_request(7, "ids", ids.available() + 1));
  service.world.send(*service.line, request("next_text", "ids"));
  service.world.settle();
  REQUIRE(ids.waiters().size() == 2);
  service.set("{number:6,base16}");
  service.reload();
  static_cast<void>(core.range("ids", missing, Caller{}, 0));
  REQUIRE(ids.waiters().short_of() == missing);
  REQUIRE(core.store.deliver_late());
  service.world.settle();
  CHECK(ids.waiters().empty());
  CHECK(ids.waiters().short_of() == missing);
}

TEST_CASE("ReloadRecordsNoFormWhileNoTextIsIssued", "[text_forms]") {
  FormService service;
  service.set("{number:6}");
  const auto forms = [&service] {
    return service.world.core.log.image.names.at("ids").forms.size();
  };
  REQUIRE(service.ask(next_request(0, "ids")).id() == 1);
  const SequenceId id = service.world.core.table->find("ids");
  // A number waits.
  service.world.send(*service.line,
                     range_request(7, "ids", service.world.core.table->at(id).available() + 1));
  service.world.turn();
  REQUIRE(service.world.core.table->at(id).waiters().size() == 1);
  service.set("{number:6,base16}");
  service.reload();
  service.world.settle();
  CHECK(forms() == 0);
  // A text waits in vain: the store does not answer.
  static_cast<void>(service.line->replies());
  const std::int64_t available = service.world.core.table->at(id).available();
  service.world.send(*service.line, range_request(8, "ids", available));
  service.world.send(*service.line, request("next_text", "ids"));
  service.world.turn();
  service.reload();
  service.world.core.time.advance(10'000);
  service.world.turn();
  const std::vector<Reply> replies = service.line->replies();
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].code == ErrorCode::OK);
  CHECK(replies[1].code == ErrorCode::UNAVAILABLE);
  CHECK(forms() == 0);
  service.world.settle();
  service.set("{number:7}");
  service.reload();
  CHECK(service.text().size() == 7);
  CHECK(forms() == 1);
}

TEST_CASE("PeriodsOfAnotherUnitDoNotGiveTheTextsOfTheFormerOnes", "[text_forms]") {
  FormService service;
  service.set("{date:%y%m%d%H}-{number}", {}, "hour");
  CHECK(service.text() == "23111422-1");
  service.set("{date:%y%m%d%H}-{number}", {}, "day");
  service.restart();
  CHECK(service.next_text().code == ErrorCode::SEQ_CHANGED);
  service.set("D{date:%y%m%d}-{number}", {}, "day");
  service.restart();
  CHECK(service.text() == "D231114-1");
}

TEST_CASE("AnotherKeyIsRefusedUnlessTheTextsTellIt", "[text_forms]") {
  FormService service;
  service.set("{number:6,scramble}", {{0, key(1)}});
  static_cast<void>(service.text());
  service.set("{number:6,scramble}", {{0, key(2)}});
  service.restart();
  CHECK(service.next_text().code == ErrorCode::SEQ_CHANGED);
  service.set("K{key}-{number:6,scramble}", {{1, key(1)}});
  service.reload();
  const std::string former = service.text();
  CHECK(former.starts_with("K1-"));
  const std::int64_t number = service.number_of(former);
  service.set("K{key}-{number:6,scramble}", {{1, key(1)}, {2, key(2)}});
  service.restart();
  const std::string now = service.text();
  CHECK(now.starts_with("K2-"));
  // Texts of the former key are read as before.
  CHECK(service.number_of(former) == number);
  CHECK(service.number_of(now) == number + 1);
  CHECK(service.parse("K3-000000").code == ErrorCode::BAD_TEXT);
}

TEST_CASE("ScrambleOfAPeriodIsItsOwn", "[text_forms]") {
  FormService service;
  service.set("{date:%y%m%d}-{number:6,scramble}", {{0, key(1)}}, "day");
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (int i = 0; i < 5; ++i) first.push_back(service.text());
  service.world.core.time.advance(2 * kHourMs);
  for (int i = 0; i < 5; ++i) second.push_back(service.text());
  int alike = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    alike += first[i].substr(7) == second[i].substr(7) ? 1 : 0;
    CHECK(service.number_of(first[i]) == static_cast<std::int64_t>(i) + 1);
    CHECK(service.number_of(second[i]) == static_cast<std::int64_t>(i) + 1);
  }
  CHECK(alike == 0);
}

}  // namespace
}  // namespace seqd

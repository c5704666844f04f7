// The main rule: decided, in the log, replied; and a daemon that ends does so when its clean record
// is on the medium.
#include "daemon/core/turn.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Around final : TurnOwner {
  explicit Around(CoreWorld& its_world) : world(its_world) {}
  void decide() override { happened.emplace_back("decide"); }
  bool others_settled() const override { return others; }
  bool leaves_state() const override { return leaves; }
  void reply() override {
    happened.emplace_back("reply");
    in_the_log.push_back(world.log.turn_is_empty());
    at_reply();
  }
  void over() override { happened.emplace_back("over"); }
  void log_failed(const Status& status) override { happened.push_back(status.text()); }
  void die(const Status& status) override { happened.push_back("die: " + status.text()); }
  std::vector<std::string> take() { return std::exchange(happened, {}); }

  CoreWorld& world;
  bool others = true;
  bool leaves = true;
  std::vector<std::string> happened;
  std::vector<bool> in_the_log;  // at each reply
  std::function<void()> at_reply = [] {};
};

using Happened = std::vector<std::string>;

struct Turning {
  Turning() { orders.fill(); }
  Orders orders;
  CoreWorld& world = orders.world;
  Around around{world};
  Turn turn{*world.table, world.log, around};
};

const Status kStopping{ErrorCode::STOPPING, "the daemon is stopping"};

TEST_CASE("ATurnDecidesThenWritesThenReplies", "[turn]") {
  Turning here;
  const LogPosition before = here.world.log.position();
  REQUIRE(here.world.next("orders", caller(1)));
  CHECK(here.world.log.position() == before);
  here.turn.end();
  CHECK(here.around.take() == Happened{"decide", "reply"});
  CHECK(here.around.in_the_log == std::vector<bool>{true});
  CHECK(here.world.log.position() == before + 1);
}

TEST_CASE("ATurnWhoseRecordFailsHasNoReplies", "[turn]") {
  Turning here;
  REQUIRE(here.world.next("orders", caller(1)));
  here.world.log.fail_commit = true;
  here.turn.end();
  const Happened happened = here.around.take();
  REQUIRE(happened.size() == 2);
  CHECK(happened[1].rfind("die: ", 0) == 0);
  CHECK(here.turn.serving());
  here.world.kill();
}

// A page that says what no log has: after a kill its IDs would be issued to others.
TEST_CASE("ABlockIsWrittenToItsPageWhenItsRecordIsInTheLog", "[turn]") {
  Turning here;
  here.orders.world.settings.by_name.at("orders").blocks = true;
  here.world.table->apply_settings(here.world.limits);
  const ClientId client = here.world.table->replays().attach(Token{1}, 1'000)->client;
  REQUIRE(here.world.table->blocks().prepare_grant(client, 1'000).ok());
  REQUIRE(here.orders.sequence().grant_block({5, 9, client, 1'000}, 2, 3).ok());
  SECTION("and not before") {
    here.world.log.fail_commit = true;
    here.turn.end();
    CHECK(here.world.pages.slot(client, 2).block == 0);
    here.world.kill();
  }
  SECTION("and before its reply") {
    here.around.at_reply = [&] { CHECK(here.world.pages.slot(client, 2).block == 9); };
    here.turn.end();
    CHECK(here.around.take() == Happened{"decide", "reply"});
  }
}

TEST_CASE("ADaemonIsOverWhenItsCleanRecordIsOnTheMedium", "[turn]") {
  Turning here;
  here.turn.begin_stop(kStopping);
  CHECK(here.turn.phase() == Turn::Phase::stopping);
  here.turn.end();
  CHECK(here.turn.phase() == Turn::Phase::leaving);
  here.world.log.begin_flush();
  here.turn.end();
  CHECK(here.around.take() == Happened{"decide", "reply", "decide", "reply"});
  here.world.log.end_flush(here.turn);
  CHECK(here.turn.phase() == Turn::Phase::over);
  CHECK(here.around.take() == Happened{"over"});
}

TEST_CASE("ADaemonWaitsForOperationsInFlightUntilItMustLeave", "[turn]") {
  Turning here;
  here.turn.leave();
  CHECK(here.turn.serving());
  here.around.others = false;
  here.turn.begin_stop(kStopping);
  here.turn.end();
  CHECK(here.turn.phase() == Turn::Phase::stopping);
  here.turn.leave();
  CHECK(here.turn.phase() == Turn::Phase::leaving);
}

TEST_CASE("ADecommissionedDaemonLeavesNoCleanRecord", "[turn]") {
  Turning here;
  here.around.leaves = false;
  here.turn.begin_stop(kStopping);
  here.turn.end();
  CHECK(here.turn.phase() == Turn::Phase::over);
  CHECK(here.around.take() == Happened{"decide", "over", "reply"});
  CHECK(here.world.log.turn_is_empty());
}

TEST_CASE("AFailedFlushLeavesWhatIsReservedWhileServingAndEndsADaemonThatStops", "[turn]") {
  Turning here;
  SECTION("while serving") {
    here.turn.flush_failed({ErrorCode::STATE_IO, "input/output error"});
    CHECK(here.around.take() == Happened{"input/output error"});
    CHECK(here.turn.serving());
  }
  SECTION("fenced") {
    here.turn.flush_failed({ErrorCode::FENCED, "another daemon"});
    CHECK(here.around.take() == Happened{"die: another daemon"});
  }
  SECTION("while stopping") {
    here.turn.begin_stop(kStopping);
    here.turn.flush_failed({ErrorCode::STATE_IO, "input/output error"});
    CHECK(here.around.take() == Happened{"die: input/output error"});
  }
  // No clean record becomes durable any more, so nobody may wait for it.
  SECTION("while serving, and then the daemon stops") {
    here.turn.flush_failed({ErrorCode::STATE_IO, "input/output error"});
    here.around.take();
    here.turn.begin_stop(kStopping);
    SECTION("when all is settled") {
      here.turn.end();
      CHECK(here.around.take() == Happened{"decide", "die: input/output error"});
    }
    SECTION("when it waits no longer") {
      here.turn.leave();
      CHECK(here.around.take() == Happened{"die: input/output error"});
    }
    here.world.kill();
  }
}

}  // namespace
}  // namespace seqd

#include "daemon/core/names/names.h"

#include "daemon/core/log/log_entry.h"
#include "tests/unit/memory_log.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

struct Here {
  // How many entries the log has.
  std::size_t logged() {
    REQUIRE(log.commit().ok());
    return log.history.size();
  }
  std::vector<std::string> recorded() const {
    std::vector<std::string> found;
    names.snapshot(
        [&found](const LogEntry& entry) { found.push_back(std::get<DefineName>(entry).name); });
    return found;
  }
  MemoryLog log;
  Names names{log};
};

TEST_CASE("ANewNameIsLoggedOnceAndIsPlainWithItsOwnSequence", "[names]") {
  Here here;
  CHECK(here.names.record_for("orders", false).name == "orders");
  CHECK(here.names.record_for("orders", false).newest_s == 0);
  CHECK(here.logged() == 1);
  here.names.settle("orders");
  CHECK(here.names.find("orders") == nullptr);
  CHECK(here.names.is_plain("orders"));
  CHECK(here.recorded().empty());
  // The record is made again, without another entry.
  CHECK(here.names.record_for("orders", true).forms.empty());
  CHECK(here.logged() == 1);
  CHECK_FALSE(here.names.is_plain("orders"));
}

TEST_CASE("ANameOfWhichMoreIsKnownKeepsItsRecord", "[names]") {
  Here here;
  here.names.record_for("orders", false);
  here.names.add_form("orders", "- - {number}");
  here.names.settle("orders");
  CHECK(here.recorded() == std::vector<std::string>{"orders"});
  CHECK(here.names.forget("orders") == std::vector<std::string>{"- - {number}"});
  CHECK(here.recorded().empty());
}

TEST_CASE("AFormIsDurableWithThePositionOfItsRecord", "[names]") {
  Here here;
  here.names.record_for("orders", false);
  CHECK(here.names.is_durable("orders"));
  here.names.add_form("orders", "- - {number}");
  const LogPosition position = here.log.next_position();
  here.names.durable(position - 1);
  CHECK_FALSE(here.names.is_durable("orders"));
  here.names.durable(position);
  CHECK(here.names.is_durable("orders"));
}

TEST_CASE("TheNewestPeriodIsTheLastOneThatHasBegun", "[names]") {
  Here here;
  here.names.record_for("orders", false);
  PeriodSettings period;
  const auto note = [&](std::int64_t begin_s, std::int64_t now_s) {
    period.current = Period{"", "", begin_s, begin_s + 100};
    here.names.note_begun("orders", period, now_s);
    return here.names.find("orders")->newest_s;
  };
  CHECK(note(500, 500) == 500);
  CHECK(note(400, 600) == 500);
  CHECK(note(700, 699) == 500);  // advanced before it begins
  CHECK(note(700, 700) == 700);
  here.names.set_back("orders", 800);
  CHECK(here.names.find("orders")->newest_s == 700);
  here.names.set_back("orders", 600);
  CHECK(here.names.find("orders")->newest_s == 600);
  CHECK(here.logged() == 4);
}

}  // namespace
}  // namespace seqd

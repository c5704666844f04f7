// The history of a daemon, with its threads: audits that never end keep nothing from being removed.
#include "daemon/main/history.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "daemon/os/system_clock.h"
#include "daemon/uv/event_loop.h"
#include "tests/adapters/sqlite/kept_history.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::HistoryRows;
using testing::KeptHistory;

bool has_bytes(const KeptHistory& kept, const std::string& what) {
  for (const char* end : {"", "-wal"}) {
    std::ifstream file(kept.path + end, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    if (all.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("CallersThatAreDroppedDuringAnAuditAreOverwrittenBeforeTheNextOne") {
  KeptHistory kept;
  SystemClock clock;
  // So many rows that an audit takes a while.
  HistoryRows batch(1, clock.wall_ms());
  for (std::int64_t id = 1; id < 60'000; id += 2) batch.issue(id, id + 1, 0);
  batch.issue(60'001, 60'002);
  batch.callers[0].name = "a-distinctive-caller";
  REQUIRE(kept.write(batch).ok());
  kept.opened.reset();
  REQUIRE(has_bytes(kept, "a-distinctive-caller"));

  EventLoop loop;
  const TimerId keep = loop.schedule(60'000, [] {});
  RecordedEvents events;
  {
    HistoryLimits limits;
    limits.callers = false;
    History history(loop, clock, events, kept.directory.path(""), limits);
    bool dropping = false;
    int audits = 0;
    // One user, who always has another audit waiting.
    std::function<void()> audit = [&] {
      const Status asked = history.ask_sums(
          7, "orders",
          [&] {
            // While it runs, old rows are looked for.
            if (!std::exchange(dropping, true)) loop.schedule(1, [&] { history.tick(); });
          },
          [&](const Result<SumsAnswer>& answer) {
            CHECK(answer.status().to_string() == "OK");
            if (++audits == 12 || !has_bytes(kept, "a-distinctive-caller"))
              loop.stop();
            else
              audit();
          });
      REQUIRE(asked.ok());
    };
    audit();
    audit();
    loop.on_turn_end([&] { history.turn_over([] { return LogPosition{1}; }); });
    loop.run();
    CHECK(dropping);
    CHECK_FALSE(has_bytes(kept, "a-distinctive-caller"));
    // It goes on.
    CHECK(audits < 12);
    loop.on_turn_end(nullptr);
  }
  loop.cancel(keep);
}

}  // namespace
}  // namespace seqd

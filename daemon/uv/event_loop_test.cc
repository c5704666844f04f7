#include "daemon/uv/event_loop.h"

#include <functional>
#include <string>

#include "daemon/base/assertion.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("TimersFireInTheOrderOfTheirTime", "[event_loop]") {
  EventLoop loop;
  std::string order;
  const std::uint64_t began = uv_hrtime();
  loop.schedule(20, [&] {
    order += 'c';
    loop.stop();
  });
  loop.schedule(0, [&] { order += 'a'; });
  loop.schedule(10, [&] { order += 'b'; });
  loop.run();
  REQUIRE(order == "abc");
  REQUIRE(uv_hrtime() - began >= 19'000'000);
}

TEST_CASE("CancelledTimerDoesNotFire", "[event_loop]") {
  EventLoop loop;
  int fired = 0;
  const TimerId cancelled = loop.schedule(0, [&] { ++fired; });
  TimerId later = 0;
  loop.schedule(0, [&] { loop.cancel(later); });
  later = loop.schedule(5, [&] { ++fired; });
  loop.cancel(cancelled);
  loop.cancel(cancelled);
  loop.cancel(0);
  loop.schedule(10, [&] { loop.stop(); });
  loop.run();
  REQUIRE(fired == 0);
}

TEST_CASE("TimerMayCancelItselfAndScheduleAnother", "[event_loop]") {
  EventLoop loop;
  int fired = 0;
  TimerId id = 0;
  id = loop.schedule(0, [&] {
    loop.cancel(id);
    ++fired;
    REQUIRE(loop.schedule(0, [&] {
      ++fired;
      loop.stop();
    }) != id);
  });
  loop.run();
  REQUIRE(fired == 2);
}

TEST_CASE("TurnEndFollowsWhatTheTurnDid", "[event_loop]") {
  EventLoop loop;
  std::string order;
  loop.on_turn_end([&] { order += '|'; });
  loop.schedule(0, [&] {
    order += 'a';
    loop.schedule(5, [&] {
      order += 'b';
      loop.stop();
    });
  });
  loop.run();
  const std::size_t a = order.find('a');
  const std::size_t b = order.find('b');
  REQUIRE(a < b);
  REQUIRE(order.find('|', a) < b);
  REQUIRE(order.find('|', b) != std::string::npos);
}

TEST_CASE("AWakeUpIsOneTurn", "[event_loop]") {
  EventLoop loop;
  constexpr int kWakeUps = 50;
  int turns = 0;
  int wake_ups = 0;
  loop.on_turn_end([&] { ++turns; });
  uv_timer_t timer{};
  uv_timer_init(loop.raw(), &timer);
  std::function<void()> call = [&] {
    if (++wake_ups == kWakeUps) loop.stop();
  };
  timer.data = &call;
  uv_timer_start(
      &timer, [](uv_timer_t* fired) { (*static_cast<std::function<void()>*>(fired->data))(); }, 1,
      1);
  loop.run();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  loop.run_once();
  REQUIRE(wake_ups == kWakeUps);
  // One before it all, and what run_once() needs.
  REQUIRE(turns <= kWakeUps + 10);
}

TEST_CASE("TurnAgainDoesNotSleep", "[event_loop]") {
  EventLoop loop;
  int turns = 0;
  loop.on_turn_end([&] {
    if (++turns < 100) return loop.turn_again();
    loop.stop();
  });
  loop.schedule(60'000, [] {});
  const std::uint64_t began = uv_hrtime();
  loop.run();
  REQUIRE(turns >= 100);
  REQUIRE(uv_hrtime() - began < 30'000'000'000);
}

TEST_CASE("LoopEndsWithTimersThatWait", "[event_loop]") {
  bool fired = false;
  {
    EventLoop loop;
    loop.schedule(60'000, [&] { fired = true; });
    loop.schedule(0, [&] { fired = true; });
  }
  REQUIRE_FALSE(fired);
}

}  // namespace
}  // namespace seqd

// EventLoop: the one libuv loop of the daemon, its timers, and the end of a turn. A turn is what
// one wake-up of the loop does, with the timers that are due; when it is over, `turn_end` runs,
// before the loop sleeps or returns. Owned by the Daemon; everything registered here must be closed
// before it dies. Loop thread.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "daemon/base/time/timers.h"

namespace seqd {

class EventLoop final : public Timers {
 public:
  EventLoop();
  // Closes what is left and runs the loop until it is empty.
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  uv_loop_t* raw() { return &loop_; }  // for this folder
  void on_turn_end(std::function<void()> call) { turn_end_ = std::move(call); }
  // Before the loop would sleep, when the turn is over. True: something came, and that turn ends,
  // too; then it is called again.
  void before_sleep(std::function<bool()> call) { before_sleep_ = std::move(call); }
  // Whether it is called at all; not before the first time.
  void look_before_sleep(bool look) { looks_ = look; }
  // Runs until stop().
  void run();
  void stop();
  // What can be done now, without sleeping.
  void run_once() { uv_run(&loop_, UV_RUN_NOWAIT); }
  // Monotonic, of this turn.
  std::int64_t now_ms() const { return static_cast<std::int64_t>(uv_now(&loop_)); }
  // The next turn follows at once, without sleeping.
  void turn_again();

  TimerId schedule(std::int64_t delay_ms, std::function<void()> call) override;
  void cancel(TimerId id) override;

 private:
  struct Timer {
    uv_timer_t handle{};
    TimerId id = 0;
    EventLoop* loop = nullptr;
    std::function<void()> call;
  };

  void end_turn();
  void prepare_to_sleep();
  static void close_timer(Timer* timer);

  uv_loop_t loop_{};
  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uv_idle_t idle_{};
  std::function<void()> turn_end_;
  std::function<bool()> before_sleep_;
  bool looks_ = false;
  bool returns_ = true;  // at the end of this wake-up, without sleeping
  TimerId next_timer_ = 1;
  std::unordered_map<TimerId, Timer*> timers_;
};

}  // namespace seqd

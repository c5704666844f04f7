#include "daemon/uv/event_loop.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

EventLoop::EventLoop() {
  ASSERT(uv_loop_init(&loop_) == 0);
  ASSERT(uv_prepare_init(&loop_, &prepare_) == 0);
  ASSERT(uv_check_init(&loop_, &check_) == 0);
  ASSERT(uv_idle_init(&loop_, &idle_) == 0);
  prepare_.data = check_.data = idle_.data = this;
  uv_prepare_start(&prepare_, [](uv_prepare_t* handle) {
    static_cast<EventLoop*>(handle->data)->prepare_to_sleep();
  });
  uv_check_start(&check_, [](uv_check_t* handle) {
    auto* loop = static_cast<EventLoop*>(handle->data);
    // Otherwise the turn ends before the loop sleeps; timers that are due come into it, too.
    if (loop->returns_) loop->end_turn();
  });
}

EventLoop::~EventLoop() {
  while (!timers_.empty()) cancel(timers_.begin()->first);
  uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&idle_), nullptr);
  turn_end_ = nullptr;
  looks_ = false;
  uv_run(&loop_, UV_RUN_DEFAULT);
  ASSERT(uv_loop_close(&loop_) == 0);
}

void EventLoop::run() {
  returns_ = false;
  uv_run(&loop_, UV_RUN_DEFAULT);
  returns_ = true;
}

void EventLoop::stop() {
  returns_ = true;
  uv_stop(&loop_);
}

void EventLoop::turn_again() {
  uv_idle_start(&idle_, [](uv_idle_t* handle) { uv_idle_stop(handle); });
}

void EventLoop::end_turn() {
  if (turn_end_) turn_end_();
}

void EventLoop::prepare_to_sleep() {
  end_turn();
  while (looks_ && before_sleep_()) end_turn();
}

TimerId EventLoop::schedule(std::int64_t delay_ms, std::function<void()> call) {
  ASSERT(delay_ms >= 0 && call);
  auto timer = std::make_unique<Timer>();
  timer->id = next_timer_++;
  timer->loop = this;
  timer->call = std::move(call);
  timer->handle.data = timer.get();
  ASSERT(uv_timer_init(&loop_, &timer->handle) == 0);
  uv_update_time(&loop_);  // the delay counts from now, not from the start of the turn
  const auto fire = [](uv_timer_t* handle) {
    auto* fired = static_cast<Timer*>(handle->data);
    const std::function<void()> run = std::move(fired->call);
    const std::size_t erased = fired->loop->timers_.erase(fired->id);
    ASSERT(erased == 1);
    close_timer(fired);
    run();
  };
  ASSERT(uv_timer_start(&timer->handle, fire, static_cast<std::uint64_t>(delay_ms), 0) == 0);
  const TimerId id = timer->id;
  timers_[id] = timer.release();
  return id;
}

void EventLoop::cancel(TimerId id) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  ASSERT(found->second->id == id);
  close_timer(found->second);
  timers_.erase(found);
}

void EventLoop::close_timer(Timer* timer) {
  ASSERT(uv_is_closing(reinterpret_cast<const uv_handle_t*>(&timer->handle)) == 0);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer->handle),
           [](uv_handle_t* handle) { delete static_cast<Timer*>(handle->data); });
}

}  // namespace seqd

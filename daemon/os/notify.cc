#include "daemon/os/notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "daemon/os/event_line.h"

namespace seqd {
namespace {

constexpr std::size_t kMaxStatus = 512;  // bytes

void send(const std::string& state) {
  static_cast<void>(sd_notify(0, state.c_str()));
}

// A status is one line: a newline in it would be read as the next variable.
std::string status_line(std::string_view status) {
  return "STATUS=" + escape_line(status, kMaxStatus);
}

}  // namespace

void ServiceNotifier::ready(std::string_view status) {
  send("READY=1\n" + status_line(status));
}

void ServiceNotifier::status(std::string_view status) {
  send(status_line(status));
}

void ServiceNotifier::reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_us = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us));
}

void ServiceNotifier::stopping(std::string_view status) {
  send("STOPPING=1\n" + status_line(status));
}

void ServiceNotifier::watchdog() {
  send("WATCHDOG=1");
}

void ServiceNotifier::extend_timeout(std::int64_t time_us) {
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(time_us));
}

std::int64_t ServiceNotifier::watchdog_interval_ms() {
  std::uint64_t limit_us = 0;
  if (sd_watchdog_enabled(0, &limit_us) <= 0) return 0;
  // Half of it, as sd_watchdog_enabled(3) advises.
  return static_cast<std::int64_t>(std::max<std::uint64_t>(limit_us / 2'000, 1));
}

}  // namespace seqd

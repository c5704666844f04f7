#include "daemon/os/notify.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace seqd {
namespace {

// What systemd is to the daemon: a datagram socket, in the abstract name space.
class NotifySocket {
 public:
  NotifySocket() {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd_ >= 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Binding the family alone lets the kernel choose a free name.
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) == 0);
    socklen_t size = sizeof(address);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    const std::size_t length = size - offsetof(sockaddr_un, sun_path) - 1;
    setenv("NOTIFY_SOCKET", ("@" + std::string(address.sun_path + 1, length)).c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  std::string take() const {
    std::string out(4096, '\0');
    const ssize_t size = recv(fd_, out.data(), out.size(), 0);
    out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return out;
  }

 private:
  int fd_ = -1;
};

struct HeardEvents final : EventSink {
  void raise(const Event& event) override { texts.push_back(event.text); }
  std::vector<std::string> texts;
};

TEST_CASE("EachStateIsReportedToSystemdOnce") {
  const NotifySocket systemd;
  HeardEvents events;
  ServiceNotifier notifier(events);
  notifier.ready("3 sequences");
  CHECK(systemd.take() == "READY=1\nSTATUS=3 sequences");
  notifier.status("busy");
  CHECK(systemd.take() == "STATUS=busy");
  notifier.stopping("saving");
  CHECK(systemd.take() == "STOPPING=1\nSTATUS=saving");
  notifier.watchdog();
  CHECK(systemd.take() == "WATCHDOG=1");
  notifier.extend_timeout(5'000'000);
  CHECK(systemd.take() == "EXTEND_TIMEOUT_USEC=5000000");
  CHECK(systemd.take().empty());
  CHECK(events.texts.empty());
}

TEST_CASE("AReadyThatCannotBeReportedIsRepeatedWithTheNextReport") {
  HeardEvents events;
  ServiceNotifier notifier(events);
  setenv("NOTIFY_SOCKET", "@nobody-listens-here", 1);
  notifier.ready("3 sequences");
  notifier.watchdog();
  notifier.watchdog();
  REQUIRE(events.texts.size() == 1);
  CHECK(events.texts[0].find("READY=1") != std::string::npos);
  CHECK(events.texts[0].find("refused") != std::string::npos);
  {
    const NotifySocket systemd;
    notifier.watchdog();
    CHECK(systemd.take() == "READY=1\nSTATUS=3 sequences");
    CHECK(systemd.take() == "WATCHDOG=1");
    notifier.watchdog();
    CHECK(systemd.take() == "WATCHDOG=1");
    CHECK(systemd.take().empty());
  }
  CHECK(events.texts.size() == 1);
  // Nobody is interested in an older state.
  setenv("NOTIFY_SOCKET", "@nobody-listens-here", 1);
  notifier.ready("3 sequences");
  notifier.stopping("saving");
  CHECK(events.texts.size() == 3);
  const NotifySocket systemd;
  notifier.status("saved");
  CHECK(systemd.take() == "STOPPING=1\nSTATUS=saving");
  CHECK(systemd.take() == "STATUS=saved");
  CHECK(systemd.take().empty());
}

TEST_CASE("ASystemdThatTakesNothingIsNotWaitedFor") {
  ::alarm(60);  // the end of a daemon that waits
  const NotifySocket systemd;
  HeardEvents events;
  ServiceNotifier notifier(events);
  for (int report = 0; report < 10'000; ++report) notifier.watchdog();
  notifier.ready("3 sequences");
  ::alarm(0);
  REQUIRE(events.texts.size() == 2);
  CHECK(events.texts[0].find("WATCHDOG=1") != std::string::npos);
  CHECK(events.texts[1].find("READY=1") != std::string::npos);
  while (systemd.take() == "WATCHDOG=1") continue;
  notifier.watchdog();
  CHECK(systemd.take() == "READY=1\nSTATUS=3 sequences");
  CHECK(systemd.take() == "WATCHDOG=1");
}

TEST_CASE("AReloadThatCouldNotBeReportedIsReportedBeforeItsEnd") {
  HeardEvents events;
  ServiceNotifier notifier(events);
  setenv("NOTIFY_SOCKET", "@nobody-listens-here", 1);
  notifier.reloading();
  const NotifySocket systemd;
  notifier.ready("3 sequences");
  CHECK(systemd.take().starts_with("RELOADING=1\n"));
  CHECK(systemd.take() == "READY=1\nSTATUS=3 sequences");
  CHECK(systemd.take().empty());
}

TEST_CASE("AReloadCarriesTheMonotonicTime") {
  const NotifySocket systemd;
  HeardEvents events;
  ServiceNotifier(events).reloading();
  const std::string said = systemd.take();
  const std::string front = "RELOADING=1\nMONOTONIC_USEC=";
  REQUIRE(said.starts_with(front));
  CHECK(std::stoll(said.substr(front.size())) > 0);
}

TEST_CASE("AStatusCannotSmuggleInAnotherVariable") {
  const NotifySocket systemd;
  HeardEvents events;
  ServiceNotifier(events).status("name\nMAINPID=1");
  CHECK(systemd.take() == "STATUS=name\\nMAINPID=1");
}

TEST_CASE("WithoutSystemdNothingHappens") {
  unsetenv("NOTIFY_SOCKET");
  HeardEvents events;
  ServiceNotifier(events).ready("alone");
  CHECK(events.texts.empty());
  unsetenv("WATCHDOG_USEC");
  CHECK(ServiceNotifier::watchdog_interval_ms() == 0);
}

TEST_CASE("TheWatchdogIsFedTwiceInItsTime") {
  setenv("WATCHDOG_USEC", "30000000", 1);
  CHECK(ServiceNotifier::watchdog_interval_ms() == 15'000);
  setenv("WATCHDOG_USEC", "1", 1);
  CHECK(ServiceNotifier::watchdog_interval_ms() == 1);
  setenv("WATCHDOG_PID", "1", 1);
  CHECK(ServiceNotifier::watchdog_interval_ms() == 0);
  unsetenv("WATCHDOG_PID");
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace seqd

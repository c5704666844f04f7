#include "daemon/os/init_process.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/os/notify_relay.h"

namespace seqd {
namespace {

// What people and service managers send. Others have their usual effect: none, on number 1.
constexpr int kPassedOn[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kAgainMs = 1'000;  // between attempts to reach a manager that takes nothing
constexpr int kKilledBy = 128;   // in front of the number of a signal, as in a shell

sigset_t awaited_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (const int number : kPassedOn) sigaddset(&awaited, number);
  return awaited;
}

// What number 1 needs beside its child.
struct Init {
  int signals = -1;                  // a signalfd
  std::optional<NotifyRelay> relay;  // none: nobody asked for reports
};

// Waits for all that have ended, and ends with the daemon.
void wait_for_the_ended(const Init& init, pid_t daemon) {
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != daemon) continue;
    // Its last words came before its end. A manager that takes none now is not waited for.
    if (init.relay) init.relay->pass_on();
    _exit(WIFSIGNALED(status) ? kKilledBy + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

[[noreturn]] void be_init(const Init& init, pid_t daemon) {
  // A descriptor below 0 is skipped.
  std::array<pollfd, 2> sources{{{init.signals, POLLIN, 0}, {-1, POLLIN, 0}}};
  bool passed_on = true;
  while (true) {
    sources[1].fd = init.relay && passed_on ? init.relay->fd() : -1;
    if (poll(sources.data(), sources.size(), passed_on ? -1 : kAgainMs) < 0) continue;
    if (init.relay) passed_on = init.relay->pass_on();
    signalfd_siginfo came{};
    if (sources[0].revents == 0 || read(init.signals, &came, sizeof came) != sizeof came) continue;
    const int number = static_cast<int>(came.ssi_signo);
    if (number == SIGCHLD) {
      wait_for_the_ended(init, daemon);
    } else {
      kill(daemon, number);
    }
  }
}

// systemd's protocols mean the process whose number is in these, and podman hands them on.
void name_the_child() {
  for (const char* const variable : {"LISTEN_PID", "WATCHDOG_PID"}) {
    const char* const value = getenv(variable);
    if (value != nullptr && std::string_view(value) == "1")
      setenv(variable, std::to_string(getpid()).c_str(), 1);
  }
}

}  // namespace

void be_init_for_a_child() {
  if (getpid() != 1) return;
  // Held back from now on, so that none is lost between here and the waiting.
  const sigset_t awaited = awaited_signals();
  // An ignored SIGCHLD is inherited; the kernel would then report no end of a child.
  signal(SIGCHLD, SIG_DFL);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &awaited, &before);
  Init init{signalfd(-1, &awaited, SFD_CLOEXEC), NotifyRelay::make()};
  const pid_t daemon = init.signals < 0 ? -1 : fork();
  if (daemon > 0) be_init(init, daemon);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (init.signals >= 0) close(init.signals);
  if (daemon != 0) return;
  name_the_child();
  if (init.relay) init.relay->use();
}

}  // namespace seqd

#include "daemon/os/init_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace seqd {
namespace {

// What people and service managers send. Others have their usual effect: none, on number 1.
constexpr int kPassedOn[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kKilledBy = 128;  // in front of the number of a signal, as in a shell

sigset_t awaited_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (const int number : kPassedOn) sigaddset(&awaited, number);
  return awaited;
}

// Waits for all that have ended, and ends with the daemon.
void wait_for_the_ended(pid_t daemon) {
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != daemon) continue;
    _exit(WIFSIGNALED(status) ? kKilledBy + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

[[noreturn]] void be_init(pid_t daemon, const sigset_t& awaited) {
  while (true) {
    const int number = sigwaitinfo(&awaited, nullptr);
    if (number == SIGCHLD) {
      wait_for_the_ended(daemon);
    } else if (number > 0) {
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
  const pid_t daemon = fork();
  if (daemon > 0) be_init(daemon, awaited);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (daemon == 0) name_the_child();
}

}  // namespace seqd

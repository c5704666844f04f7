// seqd: the sequence daemon.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "daemon/main/command_line.h"
#include "daemon/main/daemon.h"
#include "daemon/main/exit_codes.h"
#include "daemon/main/modules/store_modules.h"
#include "daemon/os/activation.h"
#include "daemon/os/journal/journal.h"

namespace {

constexpr int kLogError = 3;  // as in syslog

int exit_code_of(const seqd::Status& status) {
  switch (status.code()) {
    case seqd::ErrorCode::CONFIG:
      return seqd::kExitConfig;
    case seqd::ErrorCode::FENCED:
      return seqd::kExitLocked;
    case seqd::ErrorCode::STATE_CORRUPT:
      return seqd::kExitCorrupt;
    case seqd::ErrorCode::STATE_IO:
      return seqd::kExitState;
    case seqd::ErrorCode::STORE_REFUSED:
    case seqd::ErrorCode::UNAVAILABLE:
      return seqd::kExitStore;
    default:
      return seqd::kExitInternal;
  }
}

int fail(const seqd::Status& status) {
  seqd::log_last(kLogError, status.to_string());
  return exit_code_of(status);
}

// Ends the process where memory runs out: no exception passes through half a turn, or through a C
// library. For the next start it is a kill -9, which loses nothing.
[[noreturn]] void end_without_memory() {
  constexpr std::string_view kLastWords =
      "<2>seqd: no memory is left, so the process ends; start it again, and it continues at the "
      "next ID. Check MemoryMax= of the unit, limits, and the other programs of this host\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kLastWords.data(), kLastWords.size());
  std::abort();
}

// As many descriptors as we may have; and a write beyond a file size limit is an error, not our
// death.
void prepare_process() {
  std::set_new_handler(end_without_memory);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  umask(0077);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

int serve(const seqd::ConfigurationRequest& request) {
  seqd::Result<seqd::Configuration> configuration = seqd::load_configuration(request);
  if (!configuration.ok()) return fail(configuration.status());
  const seqd::Result<std::vector<int>> sockets = seqd::activated_sockets();
  if (!sockets.ok()) return fail(sockets.status());
  // Before anything is opened: what is missing leaves the state untouched.
  seqd::Result<seqd::StoreModules> modules = seqd::StoreModules::load(configuration->stores);
  if (!modules.ok()) return fail(modules.status());
  auto daemon = std::make_unique<seqd::Daemon>(request, std::move(*configuration));
  const seqd::Status started = daemon->start(*sockets, std::move(*modules));
  if (!started.ok()) return fail(started);
  const int exit_code = daemon->run();
  // A store that hangs must not delay the exit: everything that matters is on disk.
  if (!daemon->quiet()) {
    daemon->remove_files();
    _exit(exit_code);
  }
  return exit_code;
}

}  // namespace

// Only a lack of memory throws here, and that ends the process before (prepare_process).
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  prepare_process();
  const seqd::CommandLine line = seqd::parse_command_line(argc, argv);
  switch (line.action) {
    case seqd::CommandLine::Action::leave:
      std::fputs(line.output.c_str(), line.failed ? stderr : stdout);
      return line.exit_code;
    case seqd::CommandLine::Action::check:
      return seqd::check_configuration(line.request);
    case seqd::CommandLine::Action::serve:
      break;
  }
  return serve(line.request);
}

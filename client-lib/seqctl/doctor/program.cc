#include "client-lib/seqctl/doctor/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace seqd::seqctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Nothing: its time was over.
std::optional<std::string> read_until(int descriptor, steady_clock::time_point end) {
  std::string all;
  std::array<char, 4096> part{};
  while (all.size() < kMostPrinted) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds{0}) return std::nullopt;
    pollfd source{descriptor, POLLIN, 0};
    if (::poll(&source, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t size = ::read(descriptor, part.data(), part.size());
    if (size == 0 || (size < 0 && errno != EINTR)) break;
    if (size > 0) all.append(part.data(), static_cast<std::size_t>(size));
  }
  return all;
}

// 0: there is no such program.
pid_t spawn(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  if (::posix_spawn_file_actions_init(&files) != 0) return 0;
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, arguments[0], &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? pid : 0;
}

}  // namespace

std::optional<std::string> printed_by(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = spawn(words, ends[1]);
  ::close(ends[1]);
  std::optional<std::string> printed;
  if (pid > 0) {
    printed = read_until(ends[0], steady_clock::now() + milliseconds{kProgramMs});
    // It has closed its output, or is not waited for any more.
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::close(ends[0]);
  return printed;
}

}  // namespace seqd::seqctl

#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "client-lib/seqctl/doctor/checks.h"

namespace seqd::seqctl {
namespace {

using Level = Finding::Level;

constexpr std::uint64_t kMiB = 1 << 20;
// Two log files of the default size, and one more while they are exchanged; then little is left.
constexpr std::uint64_t kRoomNeeded = 48 * kMiB;
constexpr std::uint64_t kRoomWanted = 512 * kMiB;
constexpr int kMostDescriptors = 200'000;  // to check
constexpr int kMostMapped = 100'000;       // lines

bool is_memory(std::uint32_t kind) {
  return kind == TMPFS_MAGIC || kind == RAMFS_MAGIC;
}

std::string mode_text(const struct stat& facts) {
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", facts.st_mode & 07777U);
  return mode.data();
}

// The target of a link of /proc; empty: not to be seen.
std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size <= 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

void check_room(const std::string& path, const struct statfs& facts, Findings& findings) {
  const std::uint64_t left =
      std::uint64_t{facts.f_bavail} * static_cast<std::uint64_t>(facts.f_bsize);
  const Level level = left < kRoomNeeded   ? Level::bad
                      : left < kRoomWanted ? Level::warn
                                           : Level::ok;
  findings.push_back(
      {level, "disk",
       std::to_string(left / kMiB) + " MiB are free for " + path +
           (facts.f_files > 0 ? ", " + std::to_string(facts.f_ffree) + " files" : ""),
       level == Level::ok ? "" : "make room: a full disk stops every sequence"});
}

// The directory in /proc of a process that is seqd; else empty: the daemon may be in a container,
// where the number means another process.
std::string process_of(std::int64_t pid) {
  if (pid <= 0) return "";
  std::string process = "/proc/" + std::to_string(pid);
  const std::string program = link_target(process + "/exe");
  return program.find("/seqd") == std::string::npos ? "" : process;
}

}  // namespace

std::string witness_dir_of(std::int64_t pid) {
  const std::string process = process_of(pid);
  if (process.empty()) return "";
  constexpr std::string_view kEnd = ".witness";
  std::ifstream maps(process + "/maps");
  std::string line;
  for (int looked_at = 0; looked_at < kMostMapped && std::getline(maps, line); ++looked_at) {
    const std::size_t begin = line.find('/'), slash = line.rfind('/');
    if (begin != std::string::npos && slash > begin && std::string_view(line).ends_with(kEnd))
      return line.substr(begin, slash - begin);
  }
  return "";
}

std::string state_dir_of(std::int64_t pid) {
  const std::string process = process_of(pid);
  if (process.empty()) return "";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((process + "/fd").c_str()),
                                                   ::closedir);
  if (folder == nullptr) return "";
  for (int looked_at = 0; looked_at < kMostDescriptors; ++looked_at) {
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string file = link_target(process + "/fd/" + entry->d_name);
    const std::size_t slash = file.rfind('/');
    if (slash != std::string::npos && slash > 0 && file.compare(slash, 5, "/log.") == 0)
      return file.substr(0, slash);
  }
  return "";
}

void check_state_dir(const std::string& path, Findings& findings) {
  struct stat facts {};
  struct statfs system {};
  if (::stat(path.c_str(), &facts) != 0 || ::statfs(path.c_str(), &system) != 0) {
    findings.push_back({Level::unknown, "state", path + ": " + std::strerror(errno),
                        "run this as root, or with --state-dir, if it is elsewhere"});
    return;
  }
  const bool open = (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  findings.push_back(
      {open ? Level::warn : Level::ok, "state",
       path + ", user " + std::to_string(facts.st_uid) + ", mode " + mode_text(facts),
       open ? "chmod 0700 " + path + ": its files are the daemon's alone" : ""});
  // (The daemon refuses network file systems itself.)
  if (is_memory(static_cast<std::uint32_t>(system.f_type))) {
    findings.push_back({Level::bad, "state",
                        path + " is in memory: a reboot loses it, and an SQLite store in it issues "
                               "its IDs again",
                        "set `state_dir` to a directory on a local disk"});
  }
  check_room(path, system, findings);
}

void check_witness_dir(const std::string& path, const std::string& state_dir, Findings& findings) {
  struct stat state {};
  const bool known = ::stat(state_dir.c_str(), &state) == 0;
  std::vector<std::string> candidates = {path};
  if (path.empty()) {
    candidates = {"/run/seqd"};
    if (known) candidates.push_back("/dev/shm/seqd-" + std::to_string(state.st_uid));
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && runtime[0] == '/')
      candidates.push_back(std::string(runtime) + "/seqd");
  }
  for (const std::string& candidate : candidates) {
    struct stat facts {};
    struct statfs system {};
    if (::stat(candidate.c_str(), &facts) != 0 || ::statfs(candidate.c_str(), &system) != 0)
      continue;
    if (known && facts.st_uid != state.st_uid) continue;
    const bool memory = is_memory(static_cast<std::uint32_t>(system.f_type));
    findings.push_back(
        {memory ? Level::ok : Level::bad, "witness",
         candidate + (memory ? " is in memory"
                             : " is not in memory: it can be copied, and survives "
                               "a reboot"),
         memory
             ? ""
             : "set `witness_dir` to a directory on a tmpfs, or remove it: seqd then selects one"});
    return;
  }
  findings.push_back(
      {Level::unknown, "witness", "its directory was not found",
       "use --witness-dir, if the configuration names one; else it is shared memory (ipcs -m)"});
}

std::string network_of(std::int64_t pid) {
  return pid <= 0 ? "" : link_target("/proc/" + std::to_string(pid) + "/ns/net");
}

void check_clock(Findings& findings) {
  struct timex clock {};
  const int state = ::adjtimex(&clock);
  if (state < 0) {
    findings.push_back({Level::unknown, "clock", std::strerror(errno), ""});
    return;
  }
  const bool wrong = state == TIME_ERROR || (clock.status & STA_UNSYNC) != 0;
  findings.push_back(
      {wrong ? Level::warn : Level::ok, "clock",
       wrong ? "is not synchronized with a time server: periods and dates in IDs may be wrong"
             : "is synchronized, to " + std::to_string(clock.maxerror / 1'000) + " ms",
       wrong ? "timedatectl set-ntp true, or install chrony" : ""});
}

}  // namespace seqd::seqctl

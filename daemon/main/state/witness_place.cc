#include "daemon/main/state/witness_place.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "daemon/main/config/config_relations.h"
#include "daemon/os/files/posix_files.h"
#include "daemon/os/shared_segments.h"

namespace seqd {
namespace {

constexpr const char* kUsualPlace = "/run/seqd";

bool is_memory(const std::string& path) {
  struct statfs facts {};
  return statfs(path.c_str(), &facts) == 0 &&
         (static_cast<std::uint32_t>(facts.f_type) == TMPFS_MAGIC ||
          static_cast<std::uint32_t>(facts.f_type) == RAMFS_MAGIC);
}

// Every user may write to /dev/shm, so another user may have made a file of that name there.
bool belongs_to_us_alone(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::vector<std::string> witness_candidates() {
  std::vector<std::string> out = {kUsualPlace};
  out.push_back("/dev/shm/seqd-" + std::to_string(geteuid()));
  // Last, because it is removed when the login session ends.
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') out.push_back(std::string(runtime) + "/seqd");
  return out;
}

Result<std::unique_ptr<Directory>> open_witness_place(const std::string& configured,
                                                      const std::string& state_dir,
                                                      const std::vector<std::string>& candidates) {
  if (!configured.empty()) return open_directory(configured);
  for (const std::string& path : candidates) {
    if (are_nested(path, state_dir)) continue;
    // Nothing is made on a disk; a tmpfs that is mounted there is found where its parent is none.
    if (!is_memory(path.substr(0, path.rfind('/'))) && !is_memory(path)) continue;
    Result<std::unique_ptr<Directory>> found = open_directory(path);
    if (found.ok() && (*found)->kind() == FileSystemKind::memory && belongs_to_us_alone(path))
      return found;
  }
  Result<std::unique_ptr<Directory>> segments = open_shared_segments();
  if (segments.ok() || candidates.empty()) return segments;
  return open_directory(candidates.front());
}

}  // namespace seqd

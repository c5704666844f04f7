#include "daemon/os/users.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace seqd {
namespace {

constexpr std::size_t kFirstSize = 4'096;
constexpr std::size_t kLargestSize = 4 << 20;  // a group may have many members

std::optional<Result<std::uint32_t>> read_number(const std::string& name, const char* kind) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), digit)) return std::nullopt;
  std::uint32_t number = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
  if (end.ec != std::errc() || number == kNoUserOrGroup)
    return Status(ErrorCode::CONFIG, std::string("no ") + kind + " has the number " + name);
  return number;
}

// `look_up(buffer, size, &found)` is one of getpwnam_r and getgrnam_r.
template <typename Entry, typename LookUp>
Result<std::uint32_t> find(const std::string& name, const char* kind, LookUp look_up,
                           std::uint32_t (*number)(const Entry&)) {
  if (const auto written = read_number(name, kind)) return *written;
  std::vector<char> buffer(kFirstSize);
  Entry* found = nullptr;
  Entry entry{};
  int failed = look_up(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  while (failed == ERANGE && buffer.size() < kLargestSize) {
    buffer.resize(buffer.size() * 4);
    failed = look_up(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  }
  if (found != nullptr) return number(*found);
  // Some databases report a name that is not there as one of these; see getpwnam(3).
  const bool absent = failed == 0 || failed == ENOENT || failed == ESRCH;
  return Status(ErrorCode::CONFIG, absent ? std::string("there is no such ") + kind
                                          : std::string("the ") + kind +
                                                " cannot be looked up: " + std::strerror(failed));
}

}  // namespace

Result<UserId> find_user(const std::string& name) {
  return find<passwd>(name, "user", getpwnam_r,
                      [](const passwd& entry) -> std::uint32_t { return entry.pw_uid; });
}

Result<GroupId> find_group(const std::string& name) {
  return find<group>(name, "group", getgrnam_r,
                     [](const group& entry) -> std::uint32_t { return entry.gr_gid; });
}

}  // namespace seqd

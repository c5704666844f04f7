#include "daemon/main/config/config_users.h"

#include <sstream>

#include "daemon/os/journal/event_line.h"
#include "daemon/os/users.h"

namespace seqd {

void UserLists::make(const std::string& table, std::string_view key, const WrittenKeys& written,
                     UserListSettings& list) {
  const auto line = written.find(key);
  if (line == written.end()) return;
  list.compiled = {};
  list.compiled.everyone = list.names == "*";
  if (list.compiled.everyone) return;
  std::istringstream names(list.names);
  for (std::string name; names >> name;) {
    const auto number = number_of(name, line->second, table + "." + std::string(key));
    if (!number) continue;
    (name.starts_with('@') ? list.compiled.groups : list.compiled.users).push_back(*number);
  }
}

std::optional<std::uint32_t> UserLists::number_of(const std::string& name, int line,
                                                  const std::string& key) {
  if (const auto known = known_.find(name); known != known_.end() && known->second)
    return known->second;
  const Result<std::uint32_t> found =
      name.starts_with('@') ? find_group(name.substr(1)) : find_user(name);
  if (!found.ok()) {
    problems_.add(line, key, "found \"" + escape_line(name, 70) + "\": " + found.status().text());
    return std::nullopt;
  }
  return known_[name] = *found;
}

}  // namespace seqd

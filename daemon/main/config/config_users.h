// What the names in lists of users and groups mean: looked up while a configuration is read, each
// once. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "daemon/core/words/user_list.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

class UserLists {
 public:
  explicit UserLists(Problems& problems) : problems_(problems) {}

  // Fills in `list.compiled` where `key` is written in the table; a name that does not exist is a
  // problem of its line.
  void make(const std::string& table, std::string_view key, const WrittenKeys& written,
            UserListSettings& list);

 private:
  std::optional<std::uint32_t> number_of(const std::string& name, int line, const std::string& key);

  Problems& problems_;
  std::map<std::string, std::optional<std::uint32_t>> known_;  // none: reported already
};

}  // namespace seqd

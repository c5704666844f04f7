#include "client-lib/seqctl/user_names.h"

#include <grp.h>
#include <pwd.h>

namespace seqd::seqctl {

std::string user_name(uid_t uid) {
  const passwd* const entry = ::getpwuid(uid);
  return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

std::string group_name(gid_t gid) {
  const group* const entry = ::getgrgid(gid);
  return entry == nullptr ? std::to_string(gid) : entry->gr_name;
}

}  // namespace seqd::seqctl

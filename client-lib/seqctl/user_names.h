// The names of users and groups for people; their numbers where they have none. May query a
// directory service. One thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace seqd::seqctl {

std::string user_name(uid_t uid);
std::string group_name(gid_t gid);

}  // namespace seqd::seqctl

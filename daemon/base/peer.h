// Peer: the process at the other end of a connection, as the kernel reports it: as of connect().
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/user_id.h"

namespace seqd {

struct Peer {
  UserId uid = 0;  // kNoUserOrGroup: a user that is not mapped in our user namespace
  std::int32_t pid = 0;
  std::vector<GroupId> groups;  // the group and the supplementary groups
};

}  // namespace seqd

#include "daemon/core/words/user_list.h"

#include <algorithm>

namespace seqd {

bool UserList::contains(const Peer& peer) const {
  if (everyone) return true;
  if (std::find(users.begin(), users.end(), peer.uid) != users.end()) return true;
  return std::any_of(peer.groups.begin(), peer.groups.end(), [this](GroupId group) {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  });
}

}  // namespace seqd

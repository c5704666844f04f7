// UserList: users and groups by number, as the configuration lists them; AccessSettings: which of
// them may take IDs of a sequence. Values; any thread.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "daemon/base/peer.h"

namespace seqd {

struct UserList {
  bool everyone = false;
  std::vector<UserId> users;
  std::vector<GroupId> groups;

  bool contains(const Peer& peer) const;
  auto operator<=>(const UserList&) const = default;
};

// A list as the configuration has it, and what its names meant when it was read.
struct UserListSettings {
  std::string names;  // "alice @operators 1000", or "*"
  UserList compiled;

  bool operator==(const UserListSettings& other) const { return names == other.names; }
  auto operator<=>(const UserListSettings&) const = default;
};

// `deny` comes first and applies to all users; then root and the daemon's user may always take.
struct AccessSettings {
  UserListSettings allow{"*", {true, {}, {}}};
  UserListSettings deny;
  // The same for every peer: most sequences have this, and it is asked for each of their requests.
  bool lets_everyone() const {
    const UserList& denied = deny.compiled;
    return allow.compiled.everyone && !denied.everyone && denied.users.empty() &&
           denied.groups.empty();
  }
  bool operator==(const AccessSettings&) const = default;
  auto operator<=>(const AccessSettings&) const = default;
};

}  // namespace seqd

// The numbers of users and groups by their names, from the system's databases (NSS). Blocking; used
// only while a configuration is read.
#pragma once

#include <string>

#include "daemon/base/status.h"
#include "daemon/base/user_id.h"

namespace seqd {

// CONFIG: there is none of that name, or the database does not answer. Digits are taken as the
// number itself.
Result<UserId> find_user(const std::string& name);
Result<GroupId> find_group(const std::string& name);

}  // namespace seqd

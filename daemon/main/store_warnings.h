// What weakens the promises of a store by its configuration: services that only speak like the
// database, and places that other hosts may share. STORES.md has the table. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/main/config/config_settings.h"

namespace seqd {

// Of the hosts of a MongoDB URI the service that is known by its domain, and what does not hold
// there; empty: none of them is known. Holds nothing of user and password.
std::string warning_of_uri(std::string_view uri);

// One sentence, with what to do; empty: nothing is known. May look at the file system.
std::string warning_of_store(const StoreSettings& store);

}  // namespace seqd

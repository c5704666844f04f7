// The [store.NAME] tables: what fits which type, and where a MongoDB URI comes from. A URI is a
// secret: no message holds any of it. Used while one configuration is read; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_document.h"
#include "daemon/main/config/config_problems.h"

namespace seqd {

inline constexpr std::size_t kMaxStores = 16;
inline constexpr const char* kDefaultCredential = "mongodb-uri";

// Fills configuration.stores from the [store] table, which may be null, and settles
// daemon.default_store, whose line is in `daemon_written`.
void read_stores(const DocumentEntry* table, const WrittenKeys& daemon_written,
                 const ConfigurationRequest& request, Configuration& configuration,
                 Problems& problems);

// "sqlite", "mongodb", "dynamodb".
const char* store_type_name(StoreType type);

// Whether an option of [store.NAME] means anything to a store of that type.
bool fits_store_type(std::string_view key, StoreType type);

// The URI with user, password and options replaced by "***".
std::string mask_uri(const std::string& uri);

}  // namespace seqd

// Makes a BSON document of a MessagePack map: every value as it is, or an error that names the
// field and says why not. Text becomes a string, bin binary data (generic), nil null, float 32 a
// double, the timestamp a date; integers within 32 bits become int32, others int64, as the drivers
// write them. Pure functions: any thread.
//
// Invariant: nothing is rounded, cut or dropped on the way; what BSON cannot hold is
// DOCUMENT_REFUSED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd {

// What the server allows.
inline constexpr std::size_t kMostBsonBytes = 16 * 1024 * 1024;
inline constexpr std::size_t kMostBsonLevels = 100;

// `bytes` is one MessagePack map without a field _id, which is the daemon's to choose.
Result<Document> bson_of_map(std::string_view bytes);

}  // namespace seqd

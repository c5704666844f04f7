// The options of a DynamoDB store, and which of them are allowed: the configuration checks them
// where no store is opened. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

struct DynamoStoreOptions {
  std::string region;
  std::string endpoint;  // empty: the region's
  std::string instances_table = "seqd_instances";
  std::string instances_key = "instance";
  std::int64_t timeout_ms = 10'000;
  bool plain = false;  // lease_mode
  bool unsafe_global_table = false;
};

// Why a store cannot be opened with them; OK when it can.
Status check_dynamo_options(const DynamoStoreOptions& options);
std::string endpoint_of(const DynamoStoreOptions& options);

}  // namespace seqd

// A [store.NAME] table of type dynamodb: what is allowed, and where its credentials come from.
// These are secrets: no message holds any of them. Functions; loop thread.
#pragma once

#include <string>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/store/dynamo/dynamo_store.h"

namespace seqd {

// Checks the table, and that the credentials can be read.
void read_dynamo_store(const std::string& name, int line, const StoreSettings& store,
                       const WrittenKeys& written, const ConfigurationRequest& request,
                       Configuration& configuration, Problems& problems);

DynamoStoreOptions dynamo_options(const StoreSettings& store);

struct DynamoCredentials {
  AwsCredentials credentials;
  std::string warning;  // not empty when others may read the file
};
// From the file, the systemd credential or the environment, as they are at present. CONFIG when
// they are not there.
Result<DynamoCredentials> read_dynamo_credentials(const StoreSettings& store);

}  // namespace seqd

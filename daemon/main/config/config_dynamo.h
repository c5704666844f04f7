// A [store.NAME] table of type dynamodb: what is allowed, and where its credentials come from.
// These are secrets: no message holds any of them. Functions; loop thread.
#pragma once

#include <string>

#include "daemon/main/config/config.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/store/dynamo/dynamo_options.h"
#include "daemon/store/dynamo/wire/aws_signature.h"

namespace seqd {

// Checks the table, and that credentials which it names can be read. Finds the region where it
// is not given: AWS_REGION, AWS_DEFAULT_REGION, or that of the profile.
void read_dynamo_store(const std::string& name, int line, StoreSettings& store,
                       const WrittenKeys& written, const ConfigurationRequest& request,
                       Configuration& configuration, Problems& problems);

DynamoStoreOptions dynamo_options(const StoreSettings& store);

struct DynamoCredentials {
  AwsCredentials credentials;
  std::string warning;  // not empty when others may read the file
};
// From aws_credentials_file, which is given, as they are at present.
// CONFIG when they are not there.
Result<DynamoCredentials> read_dynamo_credentials(const StoreSettings& store);

// Empty where the variable is not set.
std::string read_environment(const char* name);

}  // namespace seqd

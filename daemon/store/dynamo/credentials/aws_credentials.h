// The shared credentials file of Amazon's tools: profiles in brackets, each with the keys of one
// user or role. Pure; any thread. No error text holds any of the content.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/store/dynamo/credentials/aws_profiles.h"
#include "daemon/store/dynamo/wire/aws_signature.h"

namespace seqd {

// CONFIG if they are malformed: they are sent in a header of a request.
Status check_aws_credentials(const AwsCredentials& credentials);

// As they stand there; empty where they do not.
AwsCredentials keys_of_aws_profile(const AwsProfile& profile);

// CONFIG when the profile is missing, incomplete or malformed. Everything else in the file is
// ignored.
Result<AwsCredentials> parse_aws_credentials(std::string_view text, const std::string& profile);

}  // namespace seqd

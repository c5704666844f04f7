// The documents in JSON by which credentials arrive: of the metadata of a container or an instance,
// of STS. Pure; any thread. A document is hostile input, and no error
// text holds any of its values but an error's own name and words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/store/dynamo/credentials/aws_source.h"

namespace seqd {

inline constexpr std::size_t kMostAwsDocument = 65'536;  // bytes

// UNAVAILABLE where they are not what they should be; the grant has no origin.
Result<AwsGrant> read_metadata_document(std::string_view text);
Result<AwsGrant> read_sts_document(std::string_view text);

// The error in a document, as "AccessDenied: Not authorized"; empty if there is none.
std::string aws_error_of(std::string_view text);

// "2026-11-26T15:04:05Z", with a fraction or another offset too; milliseconds since 1970 in UTC.
std::optional<std::int64_t> parse_aws_time(std::string_view text);

// `text` in one line of printable letters, and not more than `most` bytes of it.
std::string aws_printable(std::string_view text, std::size_t most);

}  // namespace seqd

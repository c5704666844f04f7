// The command line of a credential_process. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

// Its words: the program and what it is given. Spaces divide them, except between double or single
// quotes; a backslash takes the meaning from the character behind it, but between single quotes.
// Nothing else has a meaning: there is no shell, so no variable, no ~ and no pattern is replaced.
// UNAVAILABLE where there is no word, more than 256, a quote that is not closed, or a control
// character.
Result<std::vector<std::string>> split_aws_command(std::string_view command);

}  // namespace seqd

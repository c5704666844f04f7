// Secrets that are not in the configuration itself: one line each, where newlines at its end are no
// part of it, or a text of some lines. Its place is an absolute path, or the name of a systemd
// credential, without a slash: a file in $CREDENTIALS_DIRECTORY. Blocking reads of small files; at
// start, at a reload, and when a service refuses what was read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "daemon/base/status.h"

namespace seqd {

inline constexpr std::size_t kMaxSecret = 4096;       // bytes of one line
inline constexpr std::size_t kMaxSecretText = 65536;  // bytes of some lines

struct Secret {
  std::string value;
  std::string warning;  // not empty when others may read the file
};

// A name of a credential has A-Z a-z 0-9 . _ - and is no key in hexadecimal digits.
bool is_place_of_secret(std::string_view text);

// CONFIG when it cannot be read, is not a regular file, is empty, longer than kMaxSecret or not one
// line. No error text holds any of the content, nor a name of a credential that seqd.service does
// not pass: it may be a secret in the wrong place.
Result<Secret> read_secret(const std::string& place);

// The same for a text of some lines: CONFIG when it cannot be read, is not a regular file or is
// longer than kMaxSecretText. What is in it, the reader of the text judges.
Result<Secret> read_secret_text(const std::string& place);

// Whether it is a credential, and systemd passed none: this process was not started by the unit.
bool is_credential_of_unit(const std::string& place);

}  // namespace seqd

// Secrets that are not in the configuration itself: a systemd credential, or a file. One line each,
// where newlines at its end are no part of it, or a text of some lines. Blocking reads of small
// files; at start, at a reload, and when a service refuses what was read.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

inline constexpr std::size_t kMaxSecret = 4096;       // bytes of one line
inline constexpr std::size_t kMaxSecretText = 65536;  // bytes of some lines

struct Secret {
  std::string value;
  std::string warning;  // not empty when others may read the file
};

// CONFIG when it cannot be read, is no regular file, is empty, longer than kMaxSecret or not one
// line. No error text holds any of the content.
Result<Secret> read_secret_file(const std::string& path);

// The credential of that name in $CREDENTIALS_DIRECTORY.
Result<Secret> read_credential(const std::string& name);

// The same for a text of some lines: CONFIG when it cannot be read, is no regular file or is longer
// than kMaxSecretText. What is in it, the reader of the text judges.
Result<Secret> read_secret_text(const std::string& path);
Result<Secret> read_credential_text(const std::string& name);

// Whether systemd passed any credentials.
bool have_credentials();

}  // namespace seqd

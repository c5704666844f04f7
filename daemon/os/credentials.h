// Secrets that are not in the configuration itself: a systemd credential, or a file. One line each;
// newlines at its end are no part of it. Blocking reads of small files; at start and reload only.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

inline constexpr std::size_t kMaxSecret = 4096;  // bytes

struct Secret {
  std::string value;
  std::string warning;  // not empty when others may read the file
};

// CONFIG when it cannot be read, is no regular file, is empty, longer than kMaxSecret or not one
// line. No error text holds any of the content.
Result<Secret> read_secret_file(const std::string& path);

// The credential of that name in $CREDENTIALS_DIRECTORY.
Result<Secret> read_credential(const std::string& name);

// Whether systemd passed any credentials.
bool have_credentials();

}  // namespace seqd

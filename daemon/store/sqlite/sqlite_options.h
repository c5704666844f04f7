// SqliteStoreOptions: the options of a SqliteStore. A value.
#pragma once

#include <string>

#include "daemon/base/files/files.h"

namespace seqd {

struct SqliteStoreOptions {
  std::string path;
  int busy_timeout_ms = 2'000;  // how long a foreign lock on the file is waited for
  // In memory of this boot, for the commit mark (sqlite_commit_mark.h). Outlives the store. Null:
  // no older copy is noticed by it.
  Directory* boot_memory = nullptr;
};

}  // namespace seqd

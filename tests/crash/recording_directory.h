// RecordingDirectory: passes everything on to a directory and tells a Medium of every write and
// sync, in their order. At every moment at which the power could go it calls `cut`: before and
// after each operation, and within a sync. It can make the next write or sync fail as a disk does.
// One thread; medium and script outlive it.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/files/files.h"
#include "tests/crash/medium.h"

namespace seqd {

struct Recording {
  Medium medium;
  std::function<void()> cut = [] {};
  // What the loop's thread does while a sync is under way on the worker; called once.
  std::function<void()> during_sync;
  bool fail_next_write = false;  // half of it is in the file
  bool fail_next_sync = false;   // and the kernel takes the pages for clean

  std::unique_ptr<Directory> record(std::unique_ptr<Directory> directory);
};

}  // namespace seqd

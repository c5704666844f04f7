// FileReader: reads small files without holding up the loop, whose file system may be slow. Loop
// thread: every call is answered exactly once, never before read() returned, unless the reader is
// destroyed before.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/status.h"

namespace seqd {

class FileReader {
 public:
  virtual ~FileReader() = default;
  // The whole of a regular file of at most 65,536 bytes; CONFIG with the path when there is none.
  virtual void read(const std::string& path, std::function<void(Result<std::string>)> done) = 0;
};

}  // namespace seqd

#include "daemon/base/assertion.h"

#include <cstdio>
#include <cstdlib>

namespace seqd {

void assertion_failed(const char* file, int line, const char* condition) {
  // Priority prefix 2 (critical) for a stderr that systemd reads.
  std::fprintf(stderr, "<2>seqd: CHECK failed at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace seqd

// ASSERT(condition): programming errors end the process, in release builds too, because a daemon
// that continues after one may issue an ID twice. Never used for data from a socket, a file, a
// store or the configuration.
#pragma once

namespace seqd {

// Prints where and what to stderr and aborts.
[[noreturn]] void assertion_failed(const char* file, int line, const char* condition);

}  // namespace seqd

#define ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::seqd::assertion_failed(__FILE__, __LINE__, #condition))

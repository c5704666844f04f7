// ProcessMark: detects whether this process is the one that made the mark, or a copy of it by
// fork() or clone(). Process IDs do not show that: a child in a new PID namespace may have its
// parent's, and the kernel uses an ID again. Owned by a Client; any thread.
//
// Invariant: the page holds kMade in the process that made it, and zeros in every copy: the kernel
// empties it (MADV_WIPEONFORK, Linux 4.14). Reading it needs no system call. Where the kernel does
// not do that, the process ID and a counter of fork() calls stand in for it. A restored checkpoint
// or a cloned virtual machine is not noticed.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace seqd::engine {

class ProcessMark {
 public:
  enum class Means : std::uint8_t { page, counter };

  // `best`: what to use where the kernel has it.
  explicit ProcessMark(Means best = Means::page);
  ~ProcessMark();
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  // True: it is the one that made the mark. False: call is_copied().
  bool is_surely_original() const { return page_ != nullptr && *page_ == kMade; }
  bool is_copied() const { return page_ != nullptr ? *page_ != kMade : is_counted_copy(); }
  Means means() const { return page_ == nullptr ? Means::counter : Means::page; }

 private:
  static constexpr std::uint64_t kMade = 0x7365'7164'6d61'726b;

  bool is_counted_copy() const;

  const volatile std::uint64_t* page_ = nullptr;
  pid_t process_ = 0;        // without a page
  std::uint64_t forks_ = 0;  // the same
};

}  // namespace seqd::engine

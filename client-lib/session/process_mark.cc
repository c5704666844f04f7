#include "client-lib/session/process_mark.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace seqd::engine {
namespace {

// No advice that madvise() knows.
constexpr int kNoAdvice = -1;

// Forks between this process and its first ancestor that counted.
std::atomic<std::uint64_t> forks{0};

std::size_t page_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// A page that is empty in a copy of the process; null where the kernel has none.
volatile std::uint64_t* map_wiped_page() {
  void* page =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  // Some emulators accept every advice and follow none.
  const bool follows = ::madvise(page, page_bytes(), kNoAdvice) != 0;
  if (follows && ::madvise(page, page_bytes(), MADV_WIPEONFORK) == 0)
    return static_cast<volatile std::uint64_t*>(page);
  ::munmap(page, page_bytes());
  return nullptr;
}

// Counts the fork() calls of this process from now on.
void count_forks() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

}  // namespace

ProcessMark::ProcessMark(Means best) {
  if (volatile std::uint64_t* page = best == Means::page ? map_wiped_page() : nullptr) {
    *page = kMade;
    page_ = page;
    return;
  }
  count_forks();
  process_ = ::getpid();
  forks_ = forks.load(std::memory_order_relaxed);
}

ProcessMark::~ProcessMark() {
  if (page_ != nullptr)
    ::munmap(const_cast<std::uint64_t*>(page_), page_bytes());  // NOLINT: volatile goes, too
}

bool ProcessMark::is_counted_copy() const {
  return ::getpid() != process_ || forks.load(std::memory_order_relaxed) != forks_;
}

}  // namespace seqd::engine

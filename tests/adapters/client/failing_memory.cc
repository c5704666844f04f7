#include "tests/adapters/client/failing_memory.h"

#include <cstdlib>
#include <new>

namespace seqd::testing {
namespace {

constexpr std::int64_t kUnlimited = -1;

thread_local std::int64_t left = kUnlimited;
thread_local bool failed = false;
thread_local std::int64_t frees = 0;

}  // namespace

FailingMemory::FailingMemory(std::int64_t before) {
  failed = false;
  left = before;
}

FailingMemory::~FailingMemory() {
  left = kUnlimited;
}

bool FailingMemory::has_failed() {
  return failed;
}

std::int64_t frees_of_thread() {
  return frees;
}

// NOLINTBEGIN(cppcoreguidelines-no-malloc): what operator new is made of.
static void* allocate(std::size_t size) {
  if (left == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  if (left > 0) --left;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

static void give_back(void* memory) {
  ++frees;
  std::free(memory);
}

}  // namespace seqd::testing

// The whole program's; without a FailingMemory they are what the C++ library has.
void* operator new(std::size_t size) {
  return seqd::testing::allocate(size);
}
void* operator new[](std::size_t size) {
  return seqd::testing::allocate(size);
}
// AddressSanitizer replaces these forms separately.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return seqd::testing::allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void operator delete(void* memory) noexcept {
  seqd::testing::give_back(memory);
}
void operator delete[](void* memory) noexcept {
  seqd::testing::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  seqd::testing::give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  seqd::testing::give_back(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)

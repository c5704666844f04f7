#include "daemon/store/mongo/driver/mongo_driver.h"

#include <mongoc/mongoc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The driver cannot be started again after it was cleaned up.
std::atomic<bool> started = false;

}  // namespace

MongoDriver::MongoDriver() {
  ASSERT(!started.exchange(true));
  mongoc_init();
  // Every failure comes back as a value and is logged once by the caller; the driver's own lines on
  // stderr could carry what a journal must not.
  mongoc_log_set_handler(nullptr, nullptr);
}

MongoDriver::~MongoDriver() {
  if (owns_) mongoc_cleanup();
}

void MongoDriver::unlink_counters() {
  std::array<char, 32> name{};  // main() calls it, and has nowhere to report an exception
  std::snprintf(name.data(), name.size(), "/mongoc-%d", getpid());
  shm_unlink(name.data());
}

MongoDriver::MongoDriver(MongoDriver&& other) noexcept : owns_(other.owns_) {
  other.owns_ = false;
}

}  // namespace seqd

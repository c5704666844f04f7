#include "daemon/store/mongo_driver.h"

#include <mongoc/mongoc.h>

#include <atomic>
#include <cstdlib>

#include "daemon/base/check.h"

namespace seqd {
namespace {

// The driver cannot be started again after it was cleaned up.
std::atomic<bool> started = false;

}  // namespace

MongoDriver::MongoDriver() {
  CHECK(!started.exchange(true));
  // Without this the driver leaves a shared memory segment of counters behind in /dev/shm.
  CHECK(setenv("MONGOC_DISABLE_SHM", "1", 1) == 0);
  mongoc_init();
  // Every failure comes back as a value and is logged once by the caller; the driver's own lines on
  // stderr could carry what a journal must not.
  mongoc_log_set_handler(nullptr, nullptr);
}

MongoDriver::~MongoDriver() {
  if (owns_) mongoc_cleanup();
}

MongoDriver::MongoDriver(MongoDriver&& other) noexcept : owns_(other.owns_) {
  other.owns_ = false;
}

}  // namespace seqd

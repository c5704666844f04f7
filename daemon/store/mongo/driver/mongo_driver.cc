#include "daemon/store/mongo/driver/mongo_driver.h"

#include <mongoc/mongoc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// The driver cannot be started again after it was cleaned up.
std::atomic<bool> started = false;

// The driver makes a segment of shared memory for its counters when it is loaded, whether it is
// used or not, and a process that is killed would leave it behind. No program opens it by its name.
void unlink_counters() {
  shm_unlink(("/mongoc-" + std::to_string(getpid())).c_str());
}

}  // namespace

MongoDriver::MongoDriver() {
  ASSERT(!started.exchange(true));
  unlink_counters();
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

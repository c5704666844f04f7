// MongoDriver: the life of the MongoDB driver in this process. main makes one before any store and
// lets it outlive them all; a moved-from one owns nothing. Main thread.
//
// Invariant: made once in a process, and the process does not fork after it was made (the driver's
// threads would be missing in the child).
#pragma once

namespace seqd {

class MongoDriver {
 public:
  MongoDriver();
  ~MongoDriver();
  // The driver makes a segment of shared memory for its counters when it is loaded, before main()
  // and whether it is used or not, and a process that is killed would leave it behind. Nobody reads
  // it by its name. Once, early in main().
  static void unlink_counters();
  MongoDriver(MongoDriver&& other) noexcept;
  MongoDriver& operator=(MongoDriver&&) = delete;
  MongoDriver(const MongoDriver&) = delete;
  MongoDriver& operator=(const MongoDriver&) = delete;

 private:
  bool owns_ = true;
};

}  // namespace seqd

// MongoDriver: the life of the MongoDB driver in this process. The owner of the stores makes one
// before the first store, and it outlives them all; a moved-from one owns nothing. Main thread.
//
// Invariant: made once in a process, and the process does not fork after it was made (the driver's
// threads would be missing in the child).
#pragma once

namespace seqd {

class MongoDriver {
 public:
  MongoDriver();
  ~MongoDriver();
  MongoDriver(MongoDriver&& other) noexcept;
  MongoDriver& operator=(MongoDriver&&) = delete;
  MongoDriver(const MongoDriver&) = delete;
  MongoDriver& operator=(const MongoDriver&) = delete;

 private:
  bool owns_ = true;
};

}  // namespace seqd

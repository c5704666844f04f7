// A file with the number in it, read and written under flock(2). --address is the file; the variant
// "fsync" waits for the disk before it unlocks.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

class Flock final : public Client {
 public:
  explicit Flock(const Options& options)
      : fd_(open(options.address.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        count_(options.count),
        durable_(options.variant == "fsync") {
    if (fd_ < 0) fail("cannot open " + options.address);
  }
  ~Flock() override { close(fd_); }
  Flock(const Flock&) = delete;
  Flock& operator=(const Flock&) = delete;

  void take() override {
    if (flock(fd_, LOCK_EX) != 0) fail("flock");
    char text[24] = {};
    if (pread(fd_, text, sizeof(text) - 1, 0) < 0) fail("pread");
    const std::int64_t before = std::strtoll(text, nullptr, 10);
    const std::string after = std::to_string(before + count_);
    if (pwrite(fd_, after.data(), after.size(), 0) != static_cast<ssize_t>(after.size())) {
      fail("pwrite");
    }
    if (durable_ && fsync(fd_) != 0) fail("fsync");
    if (flock(fd_, LOCK_UN) != 0) fail("flock");
    check_id(before + 1);
  }

 private:
  const int fd_;  // each client opens the file itself: the lock belongs to the open file
  const std::int64_t count_;
  const bool durable_;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    return std::make_unique<seqd::bench::Flock>(options);
  });
}

#include "daemon/os/files/unwritten_parts.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/os/files/posix_files.h"

namespace seqd {
namespace {

constexpr std::uint64_t size = std::uint64_t{1} << 20;

// A file on a disk: /var/tmp is not in memory.
class OnDisk {
 public:
  OnDisk() {
    std::string name = "/var/tmp/seqd-unwritten-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    descriptor = ::open((path + "/log.0").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(descriptor >= 0);
  }
  ~OnDisk() {
    ::close(descriptor);
    std::filesystem::remove_all(path);
  }
  OnDisk(const OnDisk&) = delete;
  OnDisk& operator=(const OnDisk&) = delete;

  std::vector<FilePart> unwritten() const {
    std::vector<FilePart> found;
    REQUIRE(find_unwritten_parts(descriptor, size, found) == 0);
    return found;
  }
  // As the log does it.
  void allocate() const {
    Result<std::unique_ptr<Directory>> directory = open_directory(path);
    REQUIRE(directory.ok());
    Result<std::unique_ptr<File>> file = (*directory)->open("log.0");
    REQUIRE(file.ok());
    REQUIRE((*file)->allocate(size).ok());
  }
  std::vector<std::uint8_t> read(std::size_t count) const {
    std::vector<std::uint8_t> bytes(count);
    REQUIRE(::pread(descriptor, bytes.data(), count, 0) == static_cast<ssize_t>(count));
    return bytes;
  }

  std::string path;
  int descriptor = -1;
};

TEST_CASE("BlocksThatAreOnlySetAsideAreFoundAlsoWhenTheyWereRead") {
  const OnDisk file;
  REQUIRE(::posix_fallocate(file.descriptor, 0, size) == 0);
  CHECK(file.read(size) == std::vector<std::uint8_t>(size));
  CHECK(file.unwritten() == std::vector<FilePart>{{0, size}});

  // What is written but still in memory does not count.
  const std::vector<std::uint8_t> bytes(8192, 7);
  REQUIRE(::pwrite(file.descriptor, bytes.data(), bytes.size(), 16384) == 8192);
  CHECK(file.unwritten() == std::vector<FilePart>{{0, 16384}, {24576, size - 24576}});
}

TEST_CASE("AFileOfManyPartsIsListedToItsEnd") {
  const OnDisk file;
  REQUIRE(::posix_fallocate(file.descriptor, 0, size) == 0);
  std::vector<FilePart> wanted;
  for (off_t at = 0; at < static_cast<off_t>(size); at += 8192) {
    REQUIRE(::pwrite(file.descriptor, "x", 1, at) == 1);
    wanted.push_back({static_cast<std::uint64_t>(at) + 4096, 4096});
  }
  CHECK(file.unwritten() == wanted);
}

TEST_CASE("AnAllocatedFileHasWrittenBlocksOnly") {
  const OnDisk file;
  SECTION("a new one") {}
  SECTION("one with room that was only set aside") {
    REQUIRE(::posix_fallocate(file.descriptor, 0, size) == 0);
  }
  SECTION("a copy with holes") {
    REQUIRE(::ftruncate(file.descriptor, size) == 0);
  }
  SECTION("one that was shorter") {
    REQUIRE(::posix_fallocate(file.descriptor, 0, 4096) == 0);
  }
  REQUIRE(::pwrite(file.descriptor, "seqd", 4, 0) == 4);
  file.allocate();
  CHECK(file.unwritten().empty());
  std::vector<std::uint8_t> wanted(size);
  wanted[0] = 's', wanted[1] = 'e', wanted[2] = 'q', wanted[3] = 'd';
  CHECK(file.read(size) == wanted);
}

TEST_CASE("AFileSystemThatTellsNothingIsNoErrorOfAllocate") {
  const std::string path = "/dev/shm/seqd-unwritten-" + std::to_string(::getpid());
  Result<std::unique_ptr<Directory>> directory = open_directory(path);
  REQUIRE(directory.ok());
  Result<std::unique_ptr<File>> file = (*directory)->open("witness");
  REQUIRE(file.ok());
  const int descriptor = ::open((path + "/witness").c_str(), O_RDWR | O_CLOEXEC);
  std::vector<FilePart> found;
  CHECK(find_unwritten_parts(descriptor, size, found) == EOPNOTSUPP);
  ::close(descriptor);
  CHECK((*file)->allocate(size).ok());
  CHECK(*(*file)->size() == size);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace seqd

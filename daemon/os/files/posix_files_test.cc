#include "daemon/os/files/posix_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace seqd {
namespace {

class Place {
 public:
  explicit Place(const char* below) {
    std::string name = std::string(below) + "/seqd-files-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Place() { std::filesystem::remove_all(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  std::string path;
};

std::unique_ptr<Directory> opened(const std::string& path) {
  Result<std::unique_ptr<Directory>> directory = open_directory(path);
  REQUIRE(directory.ok());
  return std::move(*directory);
}

std::unique_ptr<File> opened(Directory& directory, const std::string& name) {
  Result<std::unique_ptr<File>> file = directory.open(name);
  REQUIRE(file.ok());
  return std::move(*file);
}

TEST_CASE("WhatWasWrittenIsReadAgainAndShortOnlyAtTheEnd") {
  const Place place("/tmp");
  const auto directory = opened(place.path + "/state");
  const auto file = opened(*directory, "log.0");
  REQUIRE(file->allocate(8192).ok());
  CHECK(*file->size() == 8192);
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4};
  REQUIRE(file->write_at(8188, bytes).ok());
  REQUIRE(file->sync_data().ok());
  REQUIRE(directory->sync().ok());
  std::vector<std::uint8_t> read(10);
  CHECK(*file->read_at(8186, read) == 6);
  CHECK(read == std::vector<std::uint8_t>{0, 0, 1, 2, 3, 4, 0, 0, 0, 0});
  CHECK(*file->read_at(10'000, read) == 0);
}

TEST_CASE("AllocateKeepsWhatIsThereAndNeverShortens") {
  const Place place("/tmp");
  const auto directory = opened(place.path);
  const auto file = opened(*directory, "f");
  REQUIRE(file->write_at(0, std::vector<std::uint8_t>{7}).ok());
  REQUIRE(file->allocate(4096).ok());
  REQUIRE(file->allocate(100).ok());
  CHECK(*file->size() == 4096);
  std::vector<std::uint8_t> read(2);
  CHECK(*file->read_at(0, read) == 2);
  CHECK(read == std::vector<std::uint8_t>{7, 0});
}

TEST_CASE("FilesAndDirectoriesAreForTheirOwnerOnlyAndClosedOnExec") {
  const Place place("/tmp");
  const auto directory = opened(place.path + "/state");
  const auto file = opened(*directory, "f");
  struct stat found {};
  REQUIRE(::stat((place.path + "/state").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0700);
  REQUIRE(::stat((place.path + "/state/f").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error).string().find(place.path) != 0) continue;
    const int number = std::atoi(entry.path().filename().c_str());
    CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
    ++checked;
  }
  CHECK(checked == 2);
}

TEST_CASE("AnotherProcessGetsTheNumberOfTheLockHolder") {
  const Place place("/tmp");
  const auto directory = opened(place.path);
  auto lock = opened(*directory, "lock");
  const auto refused_in_child = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<std::unique_ptr<Directory>> mine = open_directory(place.path);
      if (!mine.ok()) ::_exit(3);
      const Status status = (*mine)->open("lock").status();
      const std::string holder = "process " + std::to_string(::getppid()) + ";";
      if (status.ok()) ::_exit(0);
      const bool named =
          status.code() == ErrorCode::FENCED && status.text().find(holder) != std::string::npos;
      ::_exit(named ? 1 : 2);
    }
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    return WEXITSTATUS(how);
  };
  CHECK(refused_in_child() == 1);
  lock.reset();
  CHECK(refused_in_child() == 0);
}

TEST_CASE("AMappedFileKeepsItsBytesForTheNextProcess") {
  const Place place("/dev/shm");
  const auto directory = opened(place.path);
  CHECK(directory->kind() == FileSystemKind::memory);
  {
    Result<std::unique_ptr<SharedMemory>> memory = directory->map("w", 128);
    REQUIRE(memory.ok());
    (*memory)->bytes()[127] = 9;
    CHECK(directory->map("w", 128).status().code() == ErrorCode::FENCED);
  }
  Result<std::unique_ptr<SharedMemory>> memory = directory->map("w", 128);
  REQUIRE(memory.ok());
  CHECK((*memory)->bytes()[127] == 9);
}

TEST_CASE("AReplacedFileOrDirectoryHasAnotherIdentity") {
  const Place place("/tmp");
  const std::string path = place.path + "/state";
  const auto directory = opened(path);
  const auto file = opened(*directory, "f");
  const FileIdentity before = *directory->identity("");
  CHECK(*directory->identity("f") == file->identity());
  std::filesystem::rename(path + "/f", path + "/g");
  CHECK_FALSE(directory->identity("f").ok());
  CHECK(opened(*directory, "f")->identity() != file->identity());
  std::filesystem::rename(path, place.path + "/moved");
  CHECK_FALSE(directory->identity("").ok());
  opened(path);
  CHECK(*directory->identity("") != before);
}

TEST_CASE("RenameReplacesTheOldName") {
  const Place place("/tmp");
  const auto directory = opened(place.path);
  opened(*directory, "b");
  const FileIdentity a = opened(*directory, "a")->identity();
  REQUIRE(directory->rename("a", "b").ok());
  CHECK(*directory->identity("b") == a);
  CHECK(directory->rename("a", "b").code() == ErrorCode::STATE_IO);
}

TEST_CASE("ADirectoryThatEverybodyMayWriteToIsRefused") {
  const Place place("/tmp");
  REQUIRE(::chmod(place.path.c_str(), 0777) == 0);
  const Status status = open_directory(place.path).status();
  CHECK(status.code() == ErrorCode::STATE_IO);
  CHECK(status.text().find("chmod 0700") != std::string::npos);
}

TEST_CASE("AFileOrALinkInTheWayIsRefusedByName") {
  const Place place("/tmp");
  const auto directory = opened(place.path);
  REQUIRE(::symlink("elsewhere", (place.path + "/link").c_str()) == 0);
  CHECK(directory->open("link").status().code() == ErrorCode::STATE_IO);
  REQUIRE(::mkfifo((place.path + "/pipe").c_str(), 0600) == 0);
  CHECK(directory->open("pipe").status().text().find("not a regular file") != std::string::npos);
  opened(*directory, "f");
  CHECK(open_directory(place.path + "/f").status().text().find(place.path) == 0);
  CHECK(open_directory(place.path + "/missing/state").status().code() == ErrorCode::STATE_IO);
}

TEST_CASE("AFileThatIsNotThereYetIsOnTheFileSystemThatItsLinksLeadTo") {
  const Place place("/tmp");
  CHECK(*file_system_for("/dev/shm/not-there-yet") == FileSystemKind::memory);
  const std::string link = place.path + "/link";
  REQUIRE(::symlink("/dev/shm/not-there-yet", link.c_str()) == 0);
  REQUIRE(::symlink("link", (place.path + "/relative").c_str()) == 0);
  CHECK(*file_system_for(link) == FileSystemKind::memory);
  CHECK(*file_system_for(place.path + "/relative") == FileSystemKind::memory);
  REQUIRE(::symlink("circle", (place.path + "/circle").c_str()) == 0);
  CHECK(*file_system_for(place.path + "/circle") == *file_system_of(place.path));
  CHECK_FALSE(file_system_for("/nowhere/at/all").ok());
}

TEST_CASE("TheBootIdIsTheSameTwice") {
  const auto first = read_boot_id();
  REQUIRE(first.ok());
  CHECK(*first == *read_boot_id());
  CHECK(*first != std::array<std::uint8_t, 16>{});
}

}  // namespace
}  // namespace seqd

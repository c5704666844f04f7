#include "daemon/os/credentials.h"
#include "daemon/os/system_clock.h"
#include "daemon/os/system_random.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace seqd {
namespace {

class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-secret-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& content, mode_t mode = 0600) const {
    const std::string path = path_ + "/secret";
    std::ofstream(path, std::ios::binary) << content;
    REQUIRE(chmod(path.c_str(), mode) == 0);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_CASE("ASecretIsOneLineWithoutItsNewline") {
  const Scratch scratch;
  CHECK(read_secret(scratch.file("secret\r\n\n")).value().value == "secret");
  CHECK(read_secret(scratch.file("secret")).value().warning.empty());
  CHECK(!read_secret(scratch.file("secret", 0604)).value().warning.empty());
  CHECK(read_secret(scratch.file(std::string(4096, 'x') + "\n")).ok());
}

TEST_CASE("WhatIsNoSecretIsRefusedWithoutShowingIt") {
  const Scratch scratch;
  const auto text = [&](const std::string& content) {
    return read_secret(scratch.file(content)).status().text();
  };
  const std::string path = scratch.path() + "/secret";
  CHECK(text("") == path + " is empty; allowed: one line");
  CHECK(text("\n\n") == path + " is empty; allowed: one line");
  CHECK(text("hunter2\nhunter3\n") == path + " holds more than one line of text");
  CHECK(text(std::string("a\0b", 3)) == path + " holds more than one line of text");
  CHECK(text("\xff") == path + " holds more than one line of text");
  CHECK(text(std::string(4097, 'x')) == path + " is longer than 4096 bytes");
  CHECK(text(std::string(100'000, 'x')) == path + " is longer than 4096 bytes");
  CHECK(read_secret(scratch.path()).status().text() == scratch.path() + " is not a regular file");
  const std::string pipe = scratch.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_secret(pipe).status().text() == pipe + " is not a regular file");
}

TEST_CASE("ACredentialIsLookedForInItsDirectoryOnly") {
  const Scratch scratch;
  scratch.file("value\n", 0644);
  setenv("CREDENTIALS_DIRECTORY", scratch.path().c_str(), 1);
  CHECK_FALSE(is_credential_of_unit("secret"));
  CHECK(read_secret("secret").value().value == "value");
  CHECK(read_secret("secret").value().warning.empty());
  CHECK(read_secret_text("secret").value().value == "value\n");
  for (const char* place : {"", ".", "..", "../x", "x/y", "user:hunter2", "1:hunter2", "a b",
                            "0123456789abcdef0123456789ABCDEF"}) {
    CHECK_FALSE(is_place_of_secret(place));
    CHECK(read_secret(place).status().code() == ErrorCode::CONFIG);
  }
  const Status absent = read_secret("hunter2").status();
  CHECK(absent.text() == "the credential cannot be opened: No such file or directory");
  setenv("CREDENTIALS_DIRECTORY", "relative", 1);
  CHECK(is_credential_of_unit("secret"));
  CHECK_FALSE(is_credential_of_unit("/secret"));
  unsetenv("CREDENTIALS_DIRECTORY");
  CHECK(read_secret("secret").status().text().starts_with("the credential is not there: "));
}

TEST_CASE("RandomBitsDoNotRepeatAcrossBlocks") {
  SystemRandom random;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(random.next());
  CHECK(seen.size() == 1'000);
}

TEST_CASE("TheMonotonicClockNeverGoesBack") {
  const SystemClock clock;
  std::int64_t before = clock.monotonic_ms();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now = clock.monotonic_ms();
    REQUIRE(now >= before);
    before = now;
  }
  CHECK(clock.wall_ms() > 1'600'000'000'000);
}

}  // namespace
}  // namespace seqd

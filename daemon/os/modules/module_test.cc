// Where a module is looked for, and who may have written it; real modules are those of
// tests/integration/stores/test_modules.py.
#include "daemon/os/modules/module.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/os/modules/module_build.h"
#include "protocol/version.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-module-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string directory(const std::string& name) const {
    std::filesystem::create_directories(path_ + "/" + name);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

void write(const std::string& path, const std::string& content) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

constexpr char kAgain[] =
    "install both again, in one version: apt install --reinstall seqd seqd-mongodb";

TEST_CASE("TheBuildOfThisProgramHasItsVersion") {
  REQUIRE(module_build().starts_with(SEQD_VERSION " "));
}

TEST_CASE("AModuleIsLookedForInOrderAndWhatIsWrongIsSaid") {
  const Scratch scratch;
  const std::string first = scratch.directory("first");
  const std::string second = scratch.directory("second");
  const Module module("mongodb", {first, second});
  REQUIRE(module.find().status().text() ==
          fmt::format("module mongodb: it is not installed; looked for {0}/mongodb.so and "
                      "{1}/mongodb.so; apt install seqd-mongodb",
                      first, second));
  write(second + "/mongodb.so", "text");
  REQUIRE(*module.find() == second + "/mongodb.so");
  REQUIRE(module.description() == "module mongodb: " + second + "/mongodb.so");
  const Status status = module.load().status();
  REQUIRE(status.code() == ErrorCode::CONFIG);
  REQUIRE(
      status.text().starts_with("module mongodb: " + second + "/mongodb.so cannot be loaded: "));
  REQUIRE(status.text().ends_with(kAgain));
  std::filesystem::create_directory(first + "/mongodb.so");
  REQUIRE(module.description() ==
          fmt::format("module mongodb: {}/mongodb.so is not a regular file; {}", first, kAgain));
}

TEST_CASE("AModuleThatOthersMayWriteToIsRefused") {
  const Scratch scratch;
  const std::string directory = scratch.directory("m");
  const std::string path = directory + "/mongodb.so";
  write(path, "text");
  const Module module("mongodb", {directory});
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  REQUIRE(chmod(directory.c_str(), 0755) == 0);
  REQUIRE(module.find().ok());
  const auto is_refused = [&] {
    const Status status = module.find().status();
    return status.code() == ErrorCode::CONFIG &&
           status.text().find("/mongodb.so may be of another user: ") != std::string::npos;
  };
  REQUIRE(chmod(path.c_str(), 0646) == 0);
  REQUIRE(is_refused());
  REQUIRE(module.load().status().text() == module.find().status().text());
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  REQUIRE(chmod(directory.c_str(), 01777) == 0);  // as a module beside a program in /tmp
  REQUIRE(is_refused());
  REQUIRE(chmod(directory.c_str(), 0755) == 0);
  REQUIRE(module.find().ok());
}

}  // namespace
}  // namespace seqd

// Files that are no module of this build, as the daemon may find them; real modules are those of
// tests/integration/stores/test_modules.py.
#include "daemon/os/modules/module.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "daemon/os/modules/module_build.h"
#include "daemon/os/modules/module_file.h"
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

std::string note(const std::string& owner, const std::string& text) {
  const ElfW(Nhdr)
      head{static_cast<ElfW(Word)>(owner.size() + 1), static_cast<ElfW(Word)>(text.size() + 1), 1};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  for (const std::string& part : {owner, text}) {
    out += part;
    out.append(4 - part.size() % 4, '\0');
  }
  return out;
}

ElfW(Half) machine() {
  ElfW(Ehdr) head{};
  std::ifstream("/proc/self/exe", std::ios::binary)
      .read(reinterpret_cast<char*>(&head), sizeof head);
  return head.e_machine;
}

// A shared object of nothing but notes, each in a segment.
struct Image {
  explicit Image(const std::vector<std::string>& notes) {
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_DYN;
    head.e_machine = machine();
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(ElfW(Phdr));
    head.e_phnum = static_cast<ElfW(Half)>(notes.size());
    std::size_t at = sizeof head + notes.size() * sizeof(ElfW(Phdr));
    for (const std::string& one : notes) {
      ElfW(Phdr) segment{};
      segment.p_type = PT_NOTE;
      segment.p_offset = at;
      segment.p_filesz = one.size();
      segments.push_back(segment);
      at += one.size();
      rest += one;
    }
  }
  std::string bytes() const {
    std::string out(reinterpret_cast<const char*>(&head), sizeof head);
    for (const ElfW(Phdr) & one : segments)
      out.append(reinterpret_cast<const char*>(&one), sizeof one);
    return out + rest;
  }

  ElfW(Ehdr) head{};
  std::vector<ElfW(Phdr)> segments;
  std::string rest;
};

Result<std::string> build_of(const std::string& content) {
  const Scratch scratch;
  const std::string path = scratch.directory("m") + "/file";
  write(path, content);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  Result<std::string> build = build_of_module(descriptor);
  close(descriptor);
  return build;
}

std::string refusal(const std::string& content) {
  const Result<std::string> build = build_of(content);
  REQUIRE_FALSE(build.ok());
  REQUIRE(build.status().code() == ErrorCode::CONFIG);
  return build.status().text();
}

TEST_CASE("ThisProgramHasTheNoteOfItsBuild") {
  REQUIRE(module_build().starts_with(SEQD_VERSION " "));
  const int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const Result<std::string> build = build_of_module(descriptor);
  close(descriptor);
  REQUIRE(build.ok());
  REQUIRE(*build == module_build());
}

TEST_CASE("TheNoteOfAModuleIsFoundAmongOthers") {
  const Image image({note("GNU", "else"), note("GNU", "x") + note("seqd", "1.2.3 abc")});
  const Result<std::string> build = build_of(image.bytes());
  REQUIRE(build.ok());
  REQUIRE(*build == "1.2.3 abc");
}

TEST_CASE("AFileThatIsCutAnywhereIsNoModule") {
  const std::string whole = Image({note("GNU", "else"), note("seqd", "1.2.3 abc")}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string why = refusal(whole.substr(0, size));
    REQUIRE((why == "is cut short" || why == "is no shared object for this machine"));
  }
}

TEST_CASE("WhatIsNoModuleIsRefused") {
  REQUIRE(refusal(std::string(100'000, 'x')) == "is no shared object for this machine");
  REQUIRE(refusal(Image({note("GNU", "else")}).bytes()) == "is no module of seqd");
  REQUIRE(refusal(Image({note("seqd", std::string(200, 'x'))}).bytes()) == "is no module of seqd");
  Image executable({note("seqd", "1")});
  executable.head.e_type = ET_EXEC;
  REQUIRE(refusal(executable.bytes()) == "is no shared object for this machine");
  Image elsewhere({note("seqd", "1")});
  elsewhere.head.e_machine = static_cast<ElfW(Half)>(machine() + 1);
  REQUIRE(refusal(elsewhere.bytes()) == "is no shared object for this machine");
  Image crowded({note("seqd", "1")});
  crowded.head.e_phnum = 65'535;
  REQUIRE(refusal(crowded.bytes()) == "is no shared object for this machine");
}

TEST_CASE("SizesThatLieAreNotFollowed") {
  Image far({note("seqd", "1")});
  far.head.e_phoff = ~decltype(far.head.e_phoff){0} - 8;
  REQUIRE(refusal(far.bytes()) == "is cut short");
  Image behind({note("seqd", "1")});
  behind.segments[0].p_filesz = ~decltype(behind.segments[0].p_filesz){0};
  REQUIRE(refusal(behind.bytes()) == "is cut short");
  Image loaded({note("seqd", "1"), ""});
  loaded.segments[1].p_type = PT_LOAD;
  loaded.segments[1].p_filesz = 1;  // behind the end by one byte
  REQUIRE(refusal(loaded.bytes()) == "is cut short");
  for (std::size_t at = 0; at < 8; ++at) {  // the sizes in the note
    Image lying({note("seqd", "1")});
    lying.rest[at] = '\xff';
    REQUIRE(refusal(lying.bytes()) == "is no module of seqd");
  }
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
  write(second + "/mongodb.so", Image({note("seqd", std::string(module_build()))}).bytes());
  REQUIRE(*module.find() == second + "/mongodb.so");
  REQUIRE(module.description() == "module mongodb: " + second + "/mongodb.so");
  write(first + "/mongodb.so", Image({note("seqd", "9.9.9 \n")}).bytes());
  REQUIRE(module.find().status().code() == ErrorCode::CONFIG);
  REQUIRE(module.description() ==
          fmt::format("module mongodb: {}/mongodb.so is of another build (9.9.9 \\n), this seqd is "
                      "{}; install both in one version: apt install seqd seqd-mongodb",
                      first, module_build()));
  write(first + "/mongodb.so", "text");
  REQUIRE(module.load().status().text() ==
          fmt::format("module mongodb: {}/mongodb.so is no shared object for this machine; install "
                      "it again: apt install --reinstall seqd-mongodb",
                      first));
}

TEST_CASE("AModuleThatOthersMayWriteToIsRefused") {
  const Scratch scratch;
  const std::string directory = scratch.directory("m");
  const std::string path = directory + "/mongodb.so";
  write(path, Image({note("seqd", std::string(module_build()))}).bytes());
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

TEST_CASE("AModuleThatTheLinkerRefusesIsAnError") {
  const Scratch scratch;
  const std::string directory = scratch.directory("m");
  write(directory + "/mongodb.so", Image({note("seqd", std::string(module_build()))}).bytes());
  const Status status = Module("mongodb", {directory}).load().status();
  REQUIRE(status.code() == ErrorCode::CONFIG);
  REQUIRE(status.text().find("cannot be loaded: ") != std::string::npos);
}

}  // namespace
}  // namespace seqd

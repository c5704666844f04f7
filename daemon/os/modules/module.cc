#include "daemon/os/modules/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/os/journal/event_line.h"
#include "daemon/os/modules/module_build.h"

namespace seqd {
namespace {

// Empty: /proc is not there.
std::filesystem::path program_directory() {
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  return fault ? std::filesystem::path() : program.parent_path();
}

std::vector<std::string> beside_the_program() {
  const std::filesystem::path directory = program_directory();
  if (directory.empty()) return {};
  return {directory / "modules", directory.parent_path() / "lib" / "seqd"};
}

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

// A module must be writable only for users who can also replace the program. A group may write to
// it if it may write to the program's directory, as in a tree that a group builds.
class Trusted {
 public:
  explicit Trusted(const std::string& program_directory) {
    known_ =
        stat("/proc/self/exe", &program_) == 0 && stat(program_directory.c_str(), &beside_) == 0;
  }
  bool allows(const struct stat& facts) const {
    const bool owned = facts.st_uid == 0 || facts.st_uid == geteuid() ||
                       (known_ && facts.st_uid == program_.st_uid);
    const bool of_group =
        known_ && facts.st_gid == beside_.st_gid && (beside_.st_mode & S_IWGRP) != 0;
    return owned && (facts.st_mode & S_IWOTH) == 0 && ((facts.st_mode & S_IWGRP) == 0 || of_group);
  }

 private:
  bool known_ = false;
  struct stat program_ {};
  struct stat beside_ {};
};

bool may_be_replaced(int file, const std::string& directory) {
  struct stat of_file {};
  struct stat of_directory {};
  const Trusted trusted(program_directory());
  return fstat(file, &of_file) != 0 || stat(directory.c_str(), &of_directory) != 0 ||
         !trusted.allows(of_file) || !trusted.allows(of_directory);
}

bool is_regular(int file) {
  struct stat of_file {};
  return fstat(file, &of_file) == 0 && S_ISREG(of_file.st_mode);
}

// Whether a segment lies behind the end of the file: to load it would end the process. The loader
// itself refuses a file that is not a shared object.
bool is_cut(int file) {
  struct stat of_file {};
  ElfW(Ehdr) header{};
  if (fstat(file, &of_file) != 0 || pread(file, &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  const auto size = static_cast<std::uint64_t>(of_file.st_size);
  for (std::size_t at = 0; at < header.e_phnum; ++at) {
    ElfW(Phdr) segment{};
    const auto place = static_cast<off_t>(header.e_phoff + at * sizeof segment);
    if (pread(file, &segment, sizeof segment, place) != sizeof segment) return true;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return true;
  }
  return false;
}

std::string loader_error() {
  const char* const why = dlerror();
  return escape_line(why == nullptr ? "no reason" : why);
}

}  // namespace

Module::Module(std::string name, std::vector<std::string> directories)
    : name_(std::move(name)), directories_(std::move(directories)) {}

Module::Module(std::string name) : Module(std::move(name), beside_the_program()) {}

std::string Module::reinstall() const {
  return "install both again, in one version: apt install --reinstall seqd seqd-" + name_;
}

Status Module::failure(const std::string& what) const {
  return failure(what, reinstall());
}

Status Module::failure(const std::string& what, const std::string& instead) const {
  return {ErrorCode::CONFIG, "module " + name_ + ": " + what + "; " + instead};
}

Result<std::string> Module::find() const {
  std::string places;
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/" + name_ + ".so";
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number < 0 && (errno == ENOENT || errno == ENOTDIR)) {
      places += (places.empty() ? "" : " and ") + path;
      continue;
    }
    if (file.number < 0) return failure(path + " cannot be opened: " + std::strerror(errno));
    if (!is_regular(file.number)) return failure(path + " is not a regular file");
    if (is_cut(file.number)) return failure(path + " is cut short");
    if (may_be_replaced(file.number, directory)) {
      return failure(path +
                         " may be of another user: the file or its directory belongs to one, or "
                         "others may write to it",
                     "make both root's, and not writable for others, or " + reinstall());
    }
    return path;
  }
  if (places.empty()) return failure("/proc/self/exe does not say where seqd is", "mount /proc");
  return failure("it is not installed; looked for " + places, "apt install seqd-" + name_);
}

Result<void*> Module::load() const {
  Result<std::string> path = find();
  if (!path.ok()) return path.status();
  // Never closed: threads of the driver may outlive a store.
  void* const handle = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(*path + " cannot be loaded: " + loader_error());
  const auto* const build = static_cast<const char*>(dlsym(handle, "seqd_module_build"));
  if (build == nullptr) return failure(*path + " is not a module of seqd");
  if (build != module_build()) {
    return failure(*path + " is of another build (" + escape_line(build) + "), this seqd is " +
                   std::string(module_build()));
  }
  void* const entry = dlsym(handle, ("seqd_" + name_ + "_module").c_str());
  if (entry == nullptr) return failure(*path + " is another module: " + loader_error());
  return entry;
}

std::string Module::description() const {
  const Result<std::string> path = find();
  return path.ok() ? "module " + name_ + ": " + *path : path.status().text();
}

}  // namespace seqd

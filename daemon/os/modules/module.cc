#include "daemon/os/modules/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/os/journal/event_line.h"
#include "daemon/os/modules/module_build.h"
#include "daemon/os/modules/module_file.h"

namespace seqd {
namespace {

std::vector<std::string> beside_the_program() {
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault) return {};
  const std::filesystem::path directory = program.parent_path();
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

}  // namespace

Module::Module(std::string name, std::vector<std::string> directories)
    : name_(std::move(name)), directories_(std::move(directories)) {}

Module::Module(std::string name) : Module(std::move(name), beside_the_program()) {}

Status Module::failure(const std::string& what, const std::string& instead) const {
  return {ErrorCode::CONFIG, "module " + name_ + ": " + what + "; " + instead};
}

Result<std::string> Module::find() const {
  const std::string again = "install it again: apt install --reinstall seqd-" + name_;
  std::string places;
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/" + name_ + ".so";
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number < 0 && (errno == ENOENT || errno == ENOTDIR)) {
      places += (places.empty() ? "" : " and ") + path;
      continue;
    }
    if (file.number < 0) return failure(path + " cannot be opened: " + std::strerror(errno), again);
    const Result<std::string> build = build_of_module(file.number);
    if (!build.ok()) return failure(path + " " + build.status().text(), again);
    if (*build != module_build()) {
      return failure(path + " is of another build (" + escape_line(*build) + "), this seqd is " +
                         std::string(module_build()),
                     "install both in one version: apt install seqd seqd-" + name_);
    }
    return path;
  }
  if (places.empty()) places = "/proc/self/exe, which says where seqd is";
  return failure("it is not installed; looked for " + places, "apt install seqd-" + name_);
}

Result<void*> Module::load() const {
  Result<std::string> path = find();
  if (!path.ok()) return path.status();
  // Never closed: threads of the driver may outlive a store.
  void* const handle = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const entry =
      handle == nullptr ? nullptr : dlsym(handle, ("seqd_" + name_ + "_module").c_str());
  if (entry != nullptr) return entry;
  const char* const why = dlerror();
  return failure(
      *path + " cannot be loaded: " + escape_line(why == nullptr ? "no reason" : why),
      "install it again, with what it depends on: apt install --reinstall seqd-" + name_);
}

std::string Module::description() const {
  const Result<std::string> path = find();
  return path.ok() ? "module " + name_ + ": " + *path : path.status().text();
}

}  // namespace seqd

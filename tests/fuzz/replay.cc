// A main for a fuzz target without a fuzzer: every file of the named folders is one input. Each
// lies in memory of exactly its size. A crash names the file and leaves a core as usual.
//
// usage: NAME FOLDER...
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string current;  // changed between two inputs only, so that the signal handler may read it

void name_input(int signal_number) {
  static constexpr char kPrefix[] = "replay: failed at ";
  (void)!write(STDERR_FILENO, kPrefix, sizeof(kPrefix) - 1);
  (void)!write(STDERR_FILENO, current.data(), current.size());
  (void)!write(STDERR_FILENO, "\n", 1);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

std::vector<std::uint8_t> read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return {bytes.begin(), bytes.end()};
}

std::vector<std::filesystem::path> inputs_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

int main(int count, char** arguments) {
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    std::signal(number, name_input);
  std::size_t inputs = 0;
  for (int at = 1; at < count; ++at) {
    for (const std::filesystem::path& path : inputs_of(arguments[at])) {
      current = path.string();
      alarm(60);  // an input that never ends is a find, too
      const std::vector<std::uint8_t> bytes = read_input(path);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      ++inputs;
    }
  }
  std::printf("%s: %zu inputs\n", std::filesystem::path(arguments[0]).filename().c_str(), inputs);
  if (inputs == 0) std::fputs("replay: no input\n", stderr);
  return inputs == 0 ? 1 : 0;
}

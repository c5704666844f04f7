#include "client-lib/seqctl/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>

namespace seqd::seqctl {
namespace {

struct Pipe {
  Pipe() { REQUIRE(pipe(ends) == 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  void close_reader() { close_once(ends[0]); }
  void close_writer() { close_once(ends[1]); }
  static void close_once(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  std::string read_all() const {
    std::string out;
    char part[4'096];
    for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;)
      out.append(part, static_cast<std::size_t>(count));
    return out;
  }
  int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("DescriptorThatDoesNotBlockGetsAllOfTheText", "[seqctl]") {
  Pipe out;
  REQUIRE(fcntl(out.ends[1], F_SETFL, O_NONBLOCK) == 0);
  std::string text;
  for (int id = 1; id <= 100'000; ++id)
    text += std::to_string(id) + "\n";  // more than a pipe holds
  std::string found;
  std::thread reader([&] { found = out.read_all(); });
  Output output(out.ends[1]);
  const Output::State state = output.write(text);
  out.close_writer();
  reader.join();
  CHECK(state == Output::State::well);
  CHECK(found == text);
}

TEST_CASE("ReaderThatHasGoneAwayEndsTheOutputWithoutAFailure", "[seqctl]") {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe out;
  out.close_reader();
  Output output(out.ends[1]);
  CHECK(output.write("1\n") == Output::State::reader_gone);
  CHECK(output.failure().empty());
}

TEST_CASE("DescriptorThatCannotBeWrittenIsAFailure", "[seqctl]") {
  Pipe out;
  Output output(out.ends[0]);
  CHECK(output.write("1\n") == Output::State::failed);
  CHECK_FALSE(output.failure().empty());
}

}  // namespace seqd::seqctl

#include "daemon/os/journal/journal_socket.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

namespace seqd {
namespace {

// journald's end of the socket, which reads when it is told to.
class Reader {
 public:
  Reader() {
    std::string name = "/tmp/seqd-journal-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    listen();
  }
  ~Reader() {
    ::close(descriptor_);
    std::filesystem::remove_all(folder_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::string path() const { return folder_ + "/socket"; }
  void listen() {
    descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    REQUIRE(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  void go() {
    ::close(descriptor_);
    std::filesystem::remove(path());
  }
  // "" when there is none.
  std::string take() const {
    std::string message(1 << 16, '\0');
    const ssize_t size = ::recv(descriptor_, message.data(), message.size(), 0);
    message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return message;
  }

 private:
  std::string folder_;
  int descriptor_ = -1;
};

TEST_CASE("AMessageHasItsFieldsLineByLine") {
  const Reader reader;
  JournalSocket journal(reader.path());
  journal.send({"MESSAGE=one", "PRIORITY=6"});
  CHECK(reader.take() == "MESSAGE=one\nPRIORITY=6\n");
  CHECK(reader.take().empty());
}

TEST_CASE("AJournalThatDoesNotReadIsNotWaitedForAndLearnsHowManyMessagesItLost") {
  const Reader reader;
  JournalSocket journal(reader.path());
  const int sent = 100'000;
  for (int number = 0; number < sent; ++number) journal.send({"MESSAGE=" + std::to_string(number)});
  int taken = 0;
  while (!reader.take().empty()) ++taken;
  REQUIRE(taken < sent);
  journal.send({"MESSAGE=again"});
  CHECK(reader.take() == "MESSAGE=again\n");
  CHECK(reader.take().starts_with("MESSAGE=" + std::to_string(sent - taken) +
                                  " messages before the last one were lost"));
  journal.send({"MESSAGE=and again"});
  CHECK(reader.take() == "MESSAGE=and again\n");
  CHECK(reader.take().empty());
}

TEST_CASE("LastWordsAreTriedAgainForATimeAndNotForEver") {
  const Reader reader;
  JournalSocket journal(reader.path());
  for (int number = 0; number < 100'000; ++number) journal.send({"MESSAGE=full"});
  journal.send({"MESSAGE=nobody reads"}, 20);
  std::atomic<bool> sent = false;
  bool heard = false;
  std::thread reads([&] {
    for (bool last = false; !last;) {
      last = sent;
      for (std::string message = reader.take(); !message.empty(); message = reader.take())
        heard = heard || message == "MESSAGE=last words\n";
    }
  });
  journal.send({"MESSAGE=last words"}, 60'000);
  sent = true;
  reads.join();
  CHECK(heard);
}

TEST_CASE("AJournalThatIsStartedAgainGetsMessagesAgain") {
  Reader reader;
  JournalSocket journal(reader.path());
  reader.go();
  journal.send({"MESSAGE=nobody hears this"});
  reader.listen();
  journal.send({"MESSAGE=one"});
  CHECK(reader.take() == "MESSAGE=one\n");
  CHECK(reader.take().starts_with("MESSAGE=1 messages before"));
}

// Once, the first try could come behind listen(); in all of the rounds it does not.
TEST_CASE("LastWordsWaitForAJournalThatIsBeingStartedAgain") {
  Reader reader;
  JournalSocket journal(reader.path());
  for (int round = 0; round < 200; ++round) {
    reader.go();
    std::atomic<bool> begun = false;
    bool taken = false;
    std::thread speaks([&] {
      begun = true;
      taken = journal.send({"MESSAGE=last words"}, 60'000);
    });
    while (!begun) std::this_thread::yield();
    reader.listen();
    speaks.join();
    REQUIRE(taken);
    REQUIRE(reader.take() == "MESSAGE=last words\n");
  }
}

}  // namespace
}  // namespace seqd

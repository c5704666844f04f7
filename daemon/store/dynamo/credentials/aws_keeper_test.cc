#include "daemon/store/dynamo/credentials/aws_keeper.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/seeded_random.h"
#include "tests/unit/virtual_time.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// Answers when the test says so.
class Scripted final : public AwsSource {
 public:
  std::string name() const override { return "scripted"; }
  void ask(Done done) override {
    ++asked;
    REQUIRE_FALSE(waiting);  // one call at a time
    waiting = std::move(done);
    if (at_once) answer(*at_once);
  }
  void answer(AwsAnswer given) {
    const Done done = std::move(waiting);
    waiting = nullptr;
    done(std::move(given));
  }
  int asked = 0;
  Done waiting;
  std::optional<AwsAnswer> at_once;
};

struct Keeping {
  static constexpr std::int64_t kPatience = 10'000;

  Keeping() {
    auto owned = std::make_unique<Scripted>();
    source = owned.get();
    keeper.emplace(std::move(owned), time, time, random, kPatience,
                   [this](const AwsNews& one) { news.push_back(one); });
  }
  // Lasts for `seconds`; 0: nobody knows for how long.
  AwsAnswer grant(const std::string& key, std::int64_t seconds) const {
    AwsAnswer answer{AwsAnswer::Kind::found, {{key, "hunter2", "token"}, {}, "a place"}, ""};
    if (seconds != 0) answer.grant.expires_ms = time.wall_ms() + seconds * 1000;
    return answer;
  }
  // What everybody who asks now hears, "" while there is no answer.
  std::string* get() {
    heard.push_back(std::make_unique<std::string>());
    std::string* const into = heard.back().get();
    keeper->get([into](const AwsProvider::Given& given) {
      REQUIRE(into->empty());
      *into = given.ok() ? (*given)->access_key_id : given.status().to_string();
    });
    return into;
  }
  std::int64_t next_s() const { return time.next_delay_ms().value_or(-1) / 1000; }

  VirtualTime time;
  SeededRandom random{1};
  Scripted* source = nullptr;
  std::vector<AwsNews> news;
  std::vector<std::unique_ptr<std::string>> heard;
  std::optional<AwsKeeper> keeper;
};

TEST_CASE("AwsKeeper: nothing is asked for before somebody needs it, and then once", "[aws]") {
  Keeping keeping;
  REQUIRE(keeping.source->asked == 0);
  REQUIRE(keeping.time.pending() == 0);
  const std::string* const first = keeping.get();
  const std::string* const second = keeping.get();
  REQUIRE(keeping.source->asked == 1);
  REQUIRE((first->empty() && second->empty()));
  keeping.source->answer(keeping.grant("AKID", 0));
  REQUIRE(*first == "AKID");
  REQUIRE(*second == "AKID");
  REQUIRE(*keeping.get() == "AKID");
  REQUIRE(keeping.source->asked == 1);
  REQUIRE(keeping.time.pending() == 0);  // those of unknown length are kept until they are refused
  REQUIRE(keeping.news.size() == 1);
  REQUIRE(keeping.news[0].good);
  REQUIRE(keeping.news[0].access_key_id == "AKID");
  REQUIRE(keeping.news[0].text.find("hunter2") == std::string::npos);
  REQUIRE(keeping.news[0].text.find("a place") != std::string::npos);
}

TEST_CASE("AwsKeeper: new ones are there before the old ones expire", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("FIRST", 3'600);
  REQUIRE(*keeping.get() == "FIRST");
  // 5 minutes before, and up to a minute earlier.
  REQUIRE(keeping.next_s() >= 3'600 - 360);
  REQUIRE(keeping.next_s() <= 3'600 - 300);
  keeping.source->at_once.reset();
  keeping.time.run_next();
  REQUIRE(keeping.source->asked == 2);
  REQUIRE(*keeping.get() == "FIRST");  // they are good meanwhile
  keeping.source->answer(keeping.grant("SECOND", 3'600));
  REQUIRE(*keeping.get() == "SECOND");
  REQUIRE(keeping.news.size() == 2);
  keeping.source->at_once = keeping.grant("SECOND", 7'200);
  keeping.time.run_next();
  REQUIRE(keeping.news.size() == 2);  // the same key is no news
}

TEST_CASE("AwsKeeper: the moments of several hosts differ", "[aws]") {
  std::set<std::int64_t> moments;
  for (std::uint64_t host = 0; host < 20; ++host) {
    Keeping keeping;
    keeping.random = SeededRandom(host);
    keeping.source->at_once = keeping.grant("KEY", 3'600);
    keeping.get();
    moments.insert(*keeping.time.next_delay_ms());
  }
  REQUIRE(moments.size() > 10);
}

TEST_CASE("AwsKeeper: those that last for seconds are replaced in the middle", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", 8);
  keeping.get();
  REQUIRE(keeping.time.next_delay_ms() == 4'000);
  keeping.source->at_once = keeping.grant("KEY", 5);  // of which 4 are over when it is asked
  keeping.time.run_next();
  REQUIRE(keeping.time.next_delay_ms() == AwsKeeper::kFirstPauseMs);  // no tight loop
}

TEST_CASE("AwsKeeper: the old ones serve while they are valid, and no longer", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", 3'600);
  keeping.get();
  keeping.source->at_once = aws_failed("a server does not answer");
  const std::int64_t end = keeping.time.monotonic_ms() + 3'600'000;
  int asked = 0;
  while (keeping.time.monotonic_ms() + *keeping.time.next_delay_ms() < end) {
    REQUIRE(*keeping.get() == "KEY");
    keeping.time.run_next();
    ++asked;
  }
  REQUIRE(asked >= 5);
  REQUIRE(asked <= 20);  // in 5 minutes, with pauses that grow to one
  REQUIRE(keeping.news.size() == 2);
  REQUIRE(keeping.news[1].text.find("the present ones are used") != std::string::npos);
  keeping.time.advance(end - keeping.time.monotonic_ms());
  const std::string* const heard = keeping.get();
  REQUIRE(heard->starts_with("UNAVAILABLE: there are no AWS credentials: "));
  REQUIRE(heard->find("a server does not answer") != std::string::npos);
  keeping.time.advance(AwsKeeper::kLongestPauseMs);
  REQUIRE_FALSE(keeping.news.back().good);
  REQUIRE(keeping.news.size() == 3);  // that there are none is told once, however often it is so
  keeping.source->at_once = keeping.grant("NEW", 3'600);
  keeping.time.advance(AwsKeeper::kLongestPauseMs);
  REQUIRE(*keeping.get() == "NEW");
  REQUIRE(keeping.news.back().good);
}

TEST_CASE("AwsKeeper: while there are none everybody hears why, and nobody makes it ask", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = aws_absent("environment: nothing; instance: nothing");
  for (int call = 0; call < 100; ++call) {
    const std::string* const heard = keeping.get();
    REQUIRE(heard->starts_with("UNAVAILABLE: "));
    REQUIRE(heard->find("environment: nothing; instance: nothing") != std::string::npos);
  }
  REQUIRE(keeping.source->asked == 1);
  REQUIRE(keeping.news.size() == 1);
  keeping.time.advance(3'600'000);
  REQUIRE(keeping.source->asked >= 60);
  REQUIRE(keeping.source->asked <= 130);
  REQUIRE(keeping.news.size() == 1);
  keeping.source->at_once = keeping.grant("KEY", 0);
  keeping.time.run_next();
  REQUIRE(*keeping.get() == "KEY");
}

TEST_CASE("AwsKeeper: another number of milliseconds is no news", "[aws]") {
  Keeping keeping;
  for (int tries = 0; tries < 5; ++tries) {
    keeping.source->at_once =
        aws_failed("Connection timed out after " + std::to_string(2'000 + tries) + " milliseconds");
    static_cast<void>(keeping.get());
    keeping.time.advance(AwsKeeper::kLongestPauseMs);
  }
  REQUIRE(keeping.source->asked > 5);
  REQUIRE(keeping.news.size() == 1);
  keeping.source->at_once = aws_failed("Connection refused");
  keeping.time.advance(AwsKeeper::kLongestPauseMs);
  REQUIRE(keeping.news.size() == 2);
}

TEST_CASE("AwsKeeper: a refusal asks for new ones at once, and never in a loop", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", 0);
  keeping.get();
  const AwsCredentials present = keeping.source->at_once->grant.credentials;
  keeping.source->at_once.reset();
  REQUIRE(keeping.keeper->refused({"OTHER", "hunter2", "token"},
                                  AwsRefusal::keys));  // of a request from before
  REQUIRE(keeping.source->asked == 1);
  for (int call = 0; call < 100; ++call)
    REQUIRE(keeping.keeper->refused(present, AwsRefusal::keys));
  REQUIRE(keeping.source->asked == 2);
  const std::string* const waits = keeping.get();
  REQUIRE(waits->empty());  // the refused ones are not good enough while there may be others
  keeping.source->answer(keeping.grant("KEY", 0));
  REQUIRE(*waits == "KEY");  // the same once more
  for (int call = 0; call < 100; ++call)
    REQUIRE_FALSE(keeping.keeper->refused(present, AwsRefusal::keys));
  REQUIRE(keeping.source->asked == 2);
  REQUIRE(*keeping.get() == "KEY");
  keeping.time.advance(AwsKeeper::kRefusedPauseMs);
  REQUIRE(keeping.source->asked == 3);
  keeping.source->answer(aws_failed("the file is gone"));
  REQUIRE(*keeping.get() == "KEY");
  for (int call = 0; call < 100; ++call)
    REQUIRE_FALSE(keeping.keeper->refused(present, AwsRefusal::keys));
  REQUIRE(keeping.source->asked == 3);
}

TEST_CASE("AwsKeeper: a source that answers at once says whether there are others", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("WRONG", 0);
  keeping.get();
  const AwsCredentials wrong = keeping.source->at_once->grant.credentials;
  REQUIRE_FALSE(keeping.keeper->refused(wrong, AwsRefusal::keys));
  REQUIRE(keeping.source->asked == 2);
  REQUIRE(keeping.time.next_delay_ms() == AwsKeeper::kRefusedPauseMs);  // not at once again
  keeping.source->at_once = keeping.grant("RIGHT", 0);
  keeping.time.advance(AwsKeeper::kRefusedPauseMs);
  REQUIRE(keeping.keeper->refused(wrong, AwsRefusal::keys));
  REQUIRE(*keeping.get() == "RIGHT");
}

// One table of the store is denied: sources, which may take long, are queried for it.
TEST_CASE("AwsKeeper: those that lack a right serve others while new ones are looked for",
          "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", 0);
  keeping.get();
  const AwsCredentials present = keeping.source->at_once->grant.credentials;
  keeping.source->at_once.reset();
  REQUIRE(keeping.keeper->refused(present, AwsRefusal::rights));
  REQUIRE(keeping.source->asked == 2);
  REQUIRE(*keeping.get() == "KEY");
  // Refused altogether meanwhile.
  REQUIRE(keeping.keeper->refused(present, AwsRefusal::keys));
  REQUIRE(keeping.keeper->refused(present, AwsRefusal::rights));
  const std::string* const waits = keeping.get();
  REQUIRE(waits->empty());
  keeping.source->answer(keeping.grant("KEY", 0));
  REQUIRE(*waits == "KEY");
  // No more often than for the others.
  for (int call = 0; call < 100; ++call)
    REQUIRE_FALSE(keeping.keeper->refused(present, AwsRefusal::rights));
  REQUIRE(keeping.source->asked == 2);
  REQUIRE(*keeping.get() == "KEY");
}

TEST_CASE("AwsKeeper: who waits is answered within its patience", "[aws]") {
  Keeping keeping;
  const std::string* const first = keeping.get();
  keeping.time.advance(Keeping::kPatience - 1);
  const std::string* const second = keeping.get();
  REQUIRE((first->empty() && second->empty()));
  keeping.time.advance(1);
  REQUIRE(first->find("have not answered yet") != std::string::npos);
  REQUIRE(*second == *first);
  const std::string* const third = keeping.get();
  keeping.source->answer(keeping.grant("KEY", 0));
  REQUIRE(*third == "KEY");
}

TEST_CASE("AwsKeeper: thousands that wait are bounded, and answered some a turn", "[aws]") {
  Keeping keeping;
  std::size_t answered = 0;
  for (std::size_t call = 0; call < AwsKeeper::kMostWaiting; ++call)
    keeping.keeper->get([&](const AwsProvider::Given&) { ++answered; });
  REQUIRE(keeping.get()->find("too many requests wait") != std::string::npos);
  keeping.source->answer(keeping.grant("KEY", 0));
  REQUIRE(answered == AwsKeeper::kServedATurn);
  while (keeping.time.run_next()) {
  }
  REQUIRE(answered == AwsKeeper::kMostWaiting);
}

TEST_CASE("AwsKeeper: those that come expired are not used", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", -1);
  REQUIRE(keeping.get()->find("expired already; check this host's clock") != std::string::npos);
}

TEST_CASE("AwsKeeper: a clock that is set changes nothing", "[aws]") {
  Keeping keeping;
  keeping.source->at_once = keeping.grant("KEY", 3'600);
  keeping.get();
  keeping.time.wall_set_ms = 86'400'000;
  REQUIRE(*keeping.get() == "KEY");
}

TEST_CASE("AwsKeeper: an answer that comes after its end is dropped", "[aws]") {
  Keeping keeping;
  const std::string* const waits = keeping.get();
  AwsSource::Done done = keeping.source->waiting;
  keeping.keeper.reset();
  done(keeping.grant("KEY", 10));
  REQUIRE(waits->empty());
  REQUIRE(keeping.time.pending() == 0);
}

}  // namespace
}  // namespace seqd

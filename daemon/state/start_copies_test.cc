// start() on copies of a state directory, and on an older one that was put back in its place.
#include "daemon/state/start.h"

#include "tests/unit/starting.h"

namespace seqd {
namespace {

TEST_CASE("ACopyOfARunningDirectoryForfeitsAndTheOriginalGoesOn") {
  for (const bool same_run : {true, false}) {
    World world;
    Process original = run(world, 11);
    world.disk.copy("state", "copy");
    original->issue(3);
    Process copy = begin(world, "copy", same_run ? "run" : "run2");
    REQUIRE(copy->status.ok());
    CHECK(starts_with(copy->started.how, "forfeited: "));
    use_up(world, copy);
    use_up(world, original);
    kill(world, original);
    original = begin(world);
    CHECK(original->started.how == "witness");
    use_up(world, original);
  }
}

TEST_CASE("ACopyThatForfeitsTakesNeitherTheInstanceNorTheRepeatsOfTheOriginal") {
  World world;
  Process original = run(world, 11);
  world.disk.copy("state", "copy");
  Process copy = begin(world, "copy");
  CHECK(copy->image.clients.empty());
  use_up(world, copy);
  // The copy has claimed; had it done so as the original's instance, this start would lose its
  // claim.
  original->stop();
  kill(world, original);
  original = begin(world);
  CHECK(original->started.how == "clean");
  original->claim();
  CHECK(original->available() == 29);
  CHECK(original->image.sequences.at(1).totals.gaps == 0);
  use_up(world, original);
}

TEST_CASE("ACopyMadeDuringALeaseDoesNotTakeTheLeaseOver") {
  World world;
  Process original = run(world, 0);
  const Token token{42};
  original->append(LeaseIntended{1, token, 40, 0});
  original->commit_durably();
  world.lease(token, 40);
  world.disk.copy("state", "copy");
  Process copy = begin(world, "copy");
  REQUIRE(copy->started.dropped.size() == 1);
  CHECK(copy->started.dropped[0].lease == token);
  CHECK(copy->image.sequences.at(1).totals.unknown == 1);
  use_up(world, copy);
  use_up(world, original);
}

TEST_CASE("OfManyCopiesOfACleanDirectoryOneKeepsTheRemainder") {
  World world;
  Process process = run(world, 11);
  process->stop();
  kill(world, process);
  for (int number = 0; number < 10; ++number) {
    world.disk.copy("state", "copy" + std::to_string(number));
  }
  int keepers = 0;
  for (int number = 0; number < 10; ++number) {
    Process copy = begin(world, "copy" + std::to_string(number), "run" + std::to_string(number));
    CHECK(copy->started.how == "clean");
    copy->claim();
    keepers += copy->available() > 0 ? 1 : 0;
    use_up(world, copy);
  }
  CHECK(keepers == 1);
}

TEST_CASE("ACopyMadeDuringAClaimClaimsWithANonceOfItsOwn") {
  World world;
  Process original = run(world, 11);
  original->stop();
  kill(world, original);
  original = begin(world);
  DefineScope scope = original->image.scopes.at(1);
  scope.state = ScopeState::claiming;
  scope.nonce = Token{7};
  original->append(scope);
  REQUIRE(original->commit_durably());
  world.disk.copy("state", "copy");
  use_up(world, original);
  // With the nonce it found it would hear that it has won: it was the original.
  Process copy = begin(world, "copy");
  CHECK(copy->started.how == "clean");
  use_up(world, copy);
  CHECK(copy->image.sequences.at(1).totals.gaps == 29);
}

TEST_CASE("AnOlderStatePutBackInPlaceIsForfeited") {
  for (const bool stopped : {false, true}) {
    World world;
    Process process = run(world, 11);
    if (stopped) process->stop();
    kill(world, process);
    world.disk.copy("state", "backup");
    process = begin(world);
    process->claim();
    process->issue(5);
    kill(world, process);
    world.disk.copy_over("backup", "state");
    process = begin(world);
    REQUIRE(process->status.ok());
    use_up(world, process);
    CHECK(world.issued.count(17) == 0);
  }
}

}  // namespace
}  // namespace seqd

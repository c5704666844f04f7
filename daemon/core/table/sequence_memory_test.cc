// What a sequence costs that rests: what is promised for many of them. The figure is the same in
// every run, but for what malloc keeps for later, which the number of sequences makes small.
#include <malloc.h>

#include <memory>
#include <string>

#include "daemon/core/history/history_recorder.h"
#include "tests/unit/world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr int kFew = 100;
constexpr int kMany = 2'100;
constexpr int kAtOnce = 100;  // requests in one turn

std::size_t allocated() {
  return mallinfo2().uordblks;
}

std::string name_of(int number) {
  const std::string digits = std::to_string(100'000 + number);
  return "tenant-" + digits + ".order";
}

// A table in which so many sequences gave one ID each, and rest.
std::size_t bytes_of_table(int sequences) {
  CoreWorld world;
  // As in a configuration, where they fall under one table.
  const std::shared_ptr<const IdFormat> format = world.settings.add(name_of(0)).text.compiled;
  for (int number = 0; number < sequences; ++number)
    world.settings.add(name_of(number)).text.compiled = format;
  world.start();
  world.settle();
  for (int number = 0; number < sequences; ++number) {
    static_cast<void>(world.next(name_of(number)));
    if (number % kAtOnce == kAtOnce - 1) world.settle();
  }
  world.settle();
  REQUIRE(world.answers.sent.size() == static_cast<std::size_t>(sequences));
  for (const Sequence* one : world.table->sequences().all()) {
    REQUIRE((one->totals().issued == 1 && one->available() > 0 && one->waiters().size() == 0));
    REQUIRE((!one->slot().leasing() && !in_flight(*one)));
  }
  const std::size_t before = allocated();
  world.table.reset();
  return before - allocated();
}

std::size_t bytes_of_history(int sequences) {
  VirtualTime time;
  auto recorder = std::make_unique<HistoryRecorder>(time, HistoryRecorder::Limits());
  for (int number = 1; number <= sequences; ++number) {
    const auto id = static_cast<SequenceId>(number);
    recorder->logged(DefineSequence{id, 1, name_of(number), "counter", 0});
    recorder->issued(id, 1, 2, 0);
  }
  recorder->turn_over();
  static_cast<void>(recorder->take(1, [](HistorySequence&) {}));
  const std::size_t before = allocated();
  recorder.reset();
  return before - allocated();
}

TEST_CASE("ASequenceThatRestsTakesAtMostOneKibibyte", "[sequence_table][large]") {
  const std::size_t of_table = (bytes_of_table(kMany) - bytes_of_table(kFew)) / (kMany - kFew);
  const std::size_t of_history =
      (bytes_of_history(kMany) - bytes_of_history(kFew)) / (kMany - kFew);
  CAPTURE(sizeof(Sequence), of_table, of_history);
  CHECK(of_table + of_history <= 1'024);
}

}  // namespace
}  // namespace seqd

#include "daemon/core/leasing/store_health.h"

#include "tests/unit/seeded_random.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = StoreHealth::State;

constexpr std::int64_t kNowMs = 10'000;
constexpr std::int64_t kDownMs = kNowMs + StoreHealth::kDownAfterMs;

Status away() {
  return {ErrorCode::UNAVAILABLE, "away"};
}

TEST_CASE("SingleFailureIsNoOutage", "[store_health]") {
  StoreHealth health;
  CHECK_FALSE(health.failed(away(), kNowMs, 0));
  CHECK(health.state() == State::failing);
  CHECK(health.error().text() == "away");
  CHECK_FALSE(health.answered());
  CHECK(health.state() == State::up);
  CHECK(health.error().ok());
}

TEST_CASE("OutageBeginsAndEndsOnce", "[store_health]") {
  StoreHealth health;
  CHECK_FALSE(health.failed(away(), kNowMs, 0));
  CHECK_FALSE(health.failed(away(), kDownMs - 1, 0));
  CHECK(health.failed(away(), kDownMs, 0));
  CHECK_FALSE(health.failed(away(), kDownMs + 1, 0));
  CHECK(health.state() == State::down);
  CHECK(health.answered());
  CHECK_FALSE(health.answered());
}

// What a command reports does not wait for the next call.
TEST_CASE("OutageIsDueWithoutAnotherFailure", "[store_health]") {
  StoreHealth health;
  CHECK_FALSE(health.is_due_down(kNowMs));
  static_cast<void>(health.failed(away(), kNowMs, 0));
  CHECK_FALSE(health.is_due_down(kDownMs - 1));
  CHECK(health.is_due_down(kDownMs));
  CHECK(health.state() == State::failing);
}

TEST_CASE("CallThatWasSilentForLongIsAnOutageAtOnce", "[store_health]") {
  StoreHealth health;
  CHECK(health.failed(away(), kNowMs, StoreHealth::kDownAfterMs));
  CHECK(health.state() == State::down);
}

TEST_CASE("SilenceEndsOnce", "[store_health]") {
  StoreHealth health;
  CHECK_FALSE(health.note_silence(0));
  CHECK_FALSE(health.note_silence(5'000));
  CHECK_FALSE(health.note_silence(6'000));
  CHECK(health.note_silence(0));
  CHECK_FALSE(health.note_silence(0));
}

TEST_CASE("ForgottenErrorEndsAFailureAndNoOutage", "[store_health]") {
  StoreHealth health;
  static_cast<void>(health.failed(away(), kNowMs, 0));
  health.forget_error();
  CHECK(health.state() == State::up);
  CHECK(health.failed(away(), kNowMs, StoreHealth::kDownAfterMs));
  health.forget_error();
  CHECK(health.error().ok());
  CHECK(health.state() == State::down);
  CHECK_FALSE(health.failed(away(), kDownMs, 0));
  CHECK_FALSE(health.is_due_down(kDownMs + 1));  // it fails since then
  CHECK(health.answered());
}

TEST_CASE("TriesBecomeRareUntilAnAnswer", "[store_health]") {
  StoreHealth health;
  SeededRandom random(1);
  std::int64_t slowest_ms = 0;
  for (int tries = 0; tries < 12; ++tries) slowest_ms = health.next_delay_ms(random);
  CHECK(slowest_ms >= Backoff::kMostMs / 2);
  static_cast<void>(health.answered());
  CHECK(health.next_delay_ms(random) <= Backoff::kFirstMs);
}

}  // namespace
}  // namespace seqd

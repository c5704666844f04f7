#include "daemon/core/log/state_bounds.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ThePartsOfTheLogFitIt") {
  for (const std::uint64_t size : {std::uint64_t{1} << 16, std::uint64_t{1} << 18,
                                   std::uint64_t{1} << 24, std::uint64_t{1} << 30}) {
    CAPTURE(size);
    const StateBounds bounds(size);
    const std::int64_t sum =
        bounds.sequence_bytes() +
        static_cast<std::int64_t>(bounds.clients()) * StateBounds::kClientBytes +
        static_cast<std::int64_t>(bounds.issues()) * StateBounds::kIssueBytes;
    CHECK(bounds.fits(static_cast<std::uint64_t>(sum)));
    CHECK_FALSE(bounds.fits(size - bounds.headroom() + 1));
  }
}

TEST_CASE("WhatIsNeededForSoManyIsEnough") {
  for (const std::int64_t many : {1, 100, 16'384, 100'000, 1'000'000}) {
    CAPTURE(many);
    const StateBounds sequences(
        static_cast<std::uint64_t>(StateBounds::log_size_for_sequences(many)));
    CHECK(sequences.sequence_bytes() >= many * StateBounds::kTypicalSequenceBytes - 8);
    const StateBounds clients(static_cast<std::uint64_t>(StateBounds::log_size_for_clients(many)));
    CHECK(clients.clients() >= static_cast<std::size_t>(many));
  }
  CHECK(StateBounds::log_size_for_sequences(16'384) == std::int64_t{16} << 20);
}

}  // namespace
}  // namespace seqd

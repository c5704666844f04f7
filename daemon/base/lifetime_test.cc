#include "daemon/base/lifetime.h"

#include <functional>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("GuardedCallHasItsArgumentsWhileTheOwnerLives", "[lifetime]") {
  std::vector<int> heard;
  const Lifetime alive;
  const std::function<void(int, std::vector<int>)> call =
      alive.guard([&heard](int one, const std::vector<int>& more) {
        heard = {one, more.front()};
      });
  call(1, {2});
  CHECK(heard == std::vector{1, 2});
}

TEST_CASE("GuardedCallDoesNothingOnceTheOwnerIsGone", "[lifetime]") {
  int calls = 0;
  std::optional<Lifetime> alive(std::in_place);
  const std::function<void()> call = alive->guard([&calls] { ++calls; });
  const std::function<void()> same = call;
  call();
  alive.reset();
  call();
  same();
  CHECK(calls == 1);
}

TEST_CASE("GuardedCallMayEndItsOwner", "[lifetime]") {
  std::optional<Lifetime> alive(std::in_place);
  const std::function<void()> call = alive->guard([&alive] { alive.reset(); });
  call();
  call();
  CHECK_FALSE(alive.has_value());
}

}  // namespace
}  // namespace seqd

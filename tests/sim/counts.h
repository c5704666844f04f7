// Counts: how often each kind of thing happened (counts.def). A value; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace seqd::sim {

enum class Kind : std::uint8_t {
#define X(name, group, text) name,
#include "tests/sim/counts.def"
#undef X
};

enum class Group : std::uint8_t { start, kill, power, clone, store, file, client, time };

inline constexpr std::size_t kKinds = 0
#define X(name, group, text) +1
#include "tests/sim/counts.def"
#undef X
    ;

struct KindInfo {
  std::string_view name;
  Group group;
  std::string_view text;
};

inline constexpr std::array<KindInfo, kKinds> kKindInfo = {{
#define X(name, group, text) {#name, Group::group, text},
#include "tests/sim/counts.def"
#undef X
}};

class Counts {
 public:
  void add(Kind kind, std::int64_t times = 1) { of_[static_cast<std::size_t>(kind)] += times; }
  std::int64_t of(Kind kind) const { return of_[static_cast<std::size_t>(kind)]; }
  void add(const Counts& other) {
    for (std::size_t at = 0; at < kKinds; ++at) of_[at] += other.of_[at];
  }

 private:
  std::array<std::int64_t, kKinds> of_{};
};

}  // namespace seqd::sim

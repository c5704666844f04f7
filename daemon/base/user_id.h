// UserId, GroupId: users and groups as the kernel numbers them.
#pragma once

#include <cstdint>

namespace seqd {

using UserId = std::uint32_t;
using GroupId = std::uint32_t;

// The number that no user and no group has: the kernel takes it for "unchanged" or "unknown".
inline constexpr std::uint32_t kNoUserOrGroup = 0xffff'ffff;

}  // namespace seqd

// How long the commands of seqctl wait, and how much they request at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seqd::seqctl {

// An absent daemon may be restarting. Only `wait`, and commands with --timeout, wait longer for one
// to listen.
inline constexpr std::int64_t kConnectTimeoutMs = 1'000;
// IDs of one request of `next -n`: few enough to print while the next ones come.
inline constexpr std::int64_t kIdsAtOnce = 10'000;
// Texts at once, each of which is a request.
inline constexpr std::size_t kTextsAtOnce = 1'000;
inline constexpr std::int64_t kLongestDrainMs = 300'000;
inline constexpr std::int64_t kDrainAnswerMs = 5'000;
// After its deadline every store is queried once more.
inline constexpr std::int64_t kDecommissionAnswerMs = 60'000;
// Of a page: the store goes through so many keys.
inline constexpr std::int64_t kPurgeAnswerMs = 30'000;
// Ten thousand counters, a few at a time.
inline constexpr std::int64_t kAdvanceAllAnswerMs = 120'000;
inline constexpr std::int64_t kLongestDecommissionMs = 300'000;
inline constexpr std::size_t kPageRows = 1'000;  // of a page of list or clients
// Of one walk through clients: twice what the configuration allows.
inline constexpr std::size_t kMostClientPages = 200;
// The same for the tables of a configuration of 1 MiB.
inline constexpr std::size_t kMostConfigPages = 1'000;
// Of one walk through list: twice what the configuration allows.
inline constexpr std::size_t kMostListPages = 2'000;
// For requests of a command that takes samples, and can report that there was no reply.
inline constexpr std::int64_t kSampleTimeoutMs = 1'000;

}  // namespace seqd::seqctl

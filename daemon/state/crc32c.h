// CRC-32C (Castagnoli), the check sum of the log. Pure; any thread. Uses the processor's
// instruction where there is one, because every turn pays for it.
#pragma once

#include <cstdint>
#include <span>

namespace seqd {

// The check sum of `bytes` as a continuation of `seed`; 0 starts a new one, and
// crc32c(crc32c(0, a), b) is that of a and b together.
std::uint32_t crc32c(std::uint32_t seed, std::span<const std::uint8_t> bytes);

// The same without the instruction, for machines that lack it.
std::uint32_t crc32c_by_table(std::uint32_t seed, std::span<const std::uint8_t> bytes);

}  // namespace seqd

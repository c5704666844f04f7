#include "daemon/state/segment.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/base/assertion.h"
#include "daemon/state/crc32c.h"
#include "daemon/state/log_format.h"

namespace seqd {
namespace {

constexpr std::uint8_t header_magic[8] = {'S', 'E', 'Q', 'D', 'L', 'O', 'G', '\n'};
constexpr std::uint8_t seal_magic[8] = {'S', 'E', 'Q', 'D', 'S', 'E', 'A', 'L'};
constexpr std::size_t header_sum_at = 80;  // the same in every version, as are magic and version
constexpr std::size_t seal_sum_at = 32;

template <typename T>
void put(std::uint8_t* at, T value) {
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
    at[byte] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * byte));
  }
}

template <typename T>
T get(const std::uint8_t* at) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(T); ++byte)
    value |= std::uint64_t{at[byte]} << (8 * byte);
  return static_cast<T>(value);
}

bool all_zero(std::span<const std::uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

Sector encode_header(const SegmentHeader& header) {
  Sector sector{};
  std::copy(std::begin(header_magic), std::end(header_magic), sector.begin());
  put<std::uint32_t>(&sector[8], header.version);
  put<std::uint64_t>(&sector[16], header.number);
  put<std::uint64_t>(&sector[24], header.base);
  std::copy(header.boot_id.begin(), header.boot_id.end(), sector.begin() + 32);
  std::copy(header.nonce.begin(), header.nonce.end(), sector.begin() + 48);
  put<std::uint64_t>(&sector[64], header.salt);
  put<std::int64_t>(&sector[72], header.wall_ms);
  put<std::uint32_t>(&sector[header_sum_at], crc32c(0, std::span(sector).first(header_sum_at)));
  return sector;
}

DecodedHeader decode_header(std::span<const std::uint8_t> sector) {
  DecodedHeader decoded;
  if (all_zero(sector)) {
    decoded.fault = HeaderFault::empty;
    return decoded;
  }
  if (sector.size() < sector_size || std::memcmp(sector.data(), header_magic, 8) != 0 ||
      get<std::uint32_t>(&sector[header_sum_at]) != crc32c(0, sector.first(header_sum_at))) {
    return decoded;
  }
  SegmentHeader& header = decoded.header;
  header.version = get<std::uint32_t>(&sector[8]);
  if (header.version != log_version || get<std::uint32_t>(&sector[12]) != 0) {
    decoded.fault = HeaderFault::unknown_version;
    return decoded;
  }
  header.number = get<std::uint64_t>(&sector[16]);
  header.base = get<std::uint64_t>(&sector[24]);
  std::copy_n(sector.begin() + 32, header.boot_id.size(), header.boot_id.begin());
  std::copy_n(sector.begin() + 48, header.nonce.size(), header.nonce.begin());
  header.salt = get<std::uint64_t>(&sector[64]);
  header.wall_ms = get<std::int64_t>(&sector[72]);
  const bool possible = header.number > 0 && header.number <= max_count && header.base <= max_count;
  decoded.fault = possible ? HeaderFault::none : HeaderFault::damaged;
  return decoded;
}

std::uint32_t record_seed(const SegmentHeader& header) {
  const Sector sector = encode_header(header);
  // Not the header's own check sum: continuing that over the sum itself gives a constant.
  return crc32c(0x5e9d10c5, std::span(sector).first(header_sum_at));
}

Sector encode_seal(const SegmentHeader& sealed, std::uint64_t superseded_by) {
  Sector sector{};
  std::copy(std::begin(seal_magic), std::end(seal_magic), sector.begin());
  put<std::uint64_t>(&sector[8], sealed.number);
  put<std::uint64_t>(&sector[16], sealed.salt);
  put<std::uint64_t>(&sector[24], superseded_by);
  put<std::uint32_t>(&sector[seal_sum_at], crc32c(0, std::span(sector).first(seal_sum_at)));
  return sector;
}

bool is_sealed(std::span<const std::uint8_t> sector, const SegmentHeader& header) {
  if (all_zero(sector)) return false;
  const bool whole =
      sector.size() >= sector_size && std::memcmp(sector.data(), seal_magic, 8) == 0 &&
      get<std::uint32_t>(&sector[seal_sum_at]) == crc32c(0, sector.first(seal_sum_at));
  if (!whole) return true;
  // The seal of an earlier segment of this file: the sector came back from before the header.
  return get<std::uint64_t>(&sector[8]) == header.number &&
         get<std::uint64_t>(&sector[16]) == header.salt;
}

void begin_record(std::vector<std::uint8_t>& out, RecordKind kind, LogPosition position,
                  LogPosition durable) {
  ASSERT(durable <= position);
  std::array<std::uint8_t, frame_size + 1 + 2 * longest_number> bytes{};
  std::uint8_t* end = bytes.data() + frame_size;
  *end++ = static_cast<std::uint8_t>(kind);
  end = encode_number(end, position);
  end = encode_number(end, position - durable);
  out.insert(out.end(), bytes.data(), end);
}

void end_record(std::vector<std::uint8_t>& out, std::size_t start, std::uint32_t seed) {
  ASSERT(start + frame_size < out.size());
  const std::span<std::uint8_t> record = std::span(out).subspan(start);
  put<std::uint32_t>(record.data(), static_cast<std::uint32_t>(record.size() - frame_size));
  // The length is part of the sum, so that a damaged length is found out.
  const std::uint32_t sum = crc32c(crc32c(seed, record.first(4)), record.subspan(frame_size));
  put<std::uint32_t>(record.data() + 4, sum);
}

std::optional<std::size_t> record_size(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < frame_size) return std::nullopt;
  const auto length = get<std::uint32_t>(bytes.data());
  if (length == 0 || length > std::uint32_t{1} << 30) return std::nullopt;
  return frame_size + length;
}

std::optional<Record> claimed_record(std::span<const std::uint8_t> bytes) {
  const std::optional<std::size_t> size = record_size(bytes);
  if (!size) return std::nullopt;
  const std::span<const std::uint8_t> body =
      bytes.subspan(frame_size, std::min(*size, bytes.size()) - frame_size);
  if (body.empty() || body[0] > static_cast<std::uint8_t>(RecordKind::snapshot_end))
    return std::nullopt;
  Record record;
  record.size = *size;
  record.kind = static_cast<RecordKind>(body[0]);
  EntryReader reader(body.subspan(1));
  std::uint64_t lag = 0;
  if (!reader.read_number(record.position) || !reader.read_number(lag) || lag > record.position ||
      record.position > max_count) {
    return std::nullopt;
  }
  record.durable = record.position - lag;
  record.entries = reader.left();
  return record;
}

std::optional<Record> decode_record(std::span<const std::uint8_t> bytes, std::uint32_t seed) {
  std::optional<Record> record = claimed_record(bytes);
  if (!record || record->size > bytes.size()) return std::nullopt;
  const std::span<const std::uint8_t> body = bytes.subspan(frame_size, record->size - frame_size);
  if (get<std::uint32_t>(bytes.data() + 4) != crc32c(crc32c(seed, bytes.first(4)), body)) {
    return std::nullopt;
  }
  return record;
}

}  // namespace seqd

#include "protocol/frame_scanner.h"

#include <algorithm>
#include <utility>

namespace seqd::protocol {
namespace {

std::uint32_t within(const Limit& limit, std::uint32_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, limit.min, limit.max));
}

ScanResult need_more(std::uint64_t size) {
  return {ScanResult::Kind::need_more, size, ErrorCode::OK, {}};
}

// A client's scanner may be set to more than any daemon's.
static_assert(kMaxReplyBytes <= kFrameLimit.max);

}  // namespace

FrameScanner::FrameScanner(FrameLimits limits)
    : limits_{within(kFrameLimit, limits.frame), within(kDepthLimit, limits.depth)} {}

ScanResult FrameScanner::scan(std::span<const std::uint8_t> bytes) {
  while (error_ == ErrorCode::OK && pending_ > 0) {
    if (position_ >= bytes.size()) return need_more(position_ + pending_);
    const std::uint8_t first = bytes[position_];
    if (first == kNeverUsed) {
      refuse(ErrorCode::BAD_REQUEST, "not MessagePack: the byte 0xc1 begins no value (at byte " +
                                         std::to_string(position_) + " of the message)");
      break;
    }
    // The header's own length counts before it has arrived, so that the daemon does not wait for
    // bytes that it would refuse.
    const std::uint64_t header_end = position_ + header_size(first);
    if (header_end + pending_ - 1 > limits_.frame) {
      refuse_length();
      break;
    }
    if (header_end > bytes.size()) return need_more(header_end + pending_ - 1);
    const ValueHeader header = read_header(bytes.data() + position_);
    position_ = header_end;
    if (!enter(header)) break;
  }
  if (error_ != ErrorCode::OK) return {ScanResult::Kind::bad, 0, error_, error_text_};
  if (position_ > bytes.size()) return need_more(position_);
  const std::size_t size = position_;
  reset();
  return {ScanResult::Kind::complete, size, ErrorCode::OK, {}};
}

bool FrameScanner::enter(const ValueHeader& header) {
  position_ += header.payload;
  pending_ += header.values;
  --pending_;
  if (position_ + pending_ > limits_.frame) {
    refuse_length();
    return false;
  }
  if (depth_ > 0) --open_[depth_ - 1];
  if (header.container) {
    if (depth_ == limits_.depth) {
      refuse(ErrorCode::BAD_REQUEST, "arrays and maps are nested more than " +
                                         std::to_string(limits_.depth) +
                                         " deep, which is the limit depth");
      return false;
    }
    open_[depth_++] = header.values;
  }
  while (depth_ > 0 && open_[depth_ - 1] == 0) --depth_;
  return true;
}

void FrameScanner::refuse(ErrorCode error, std::string text) {
  error_ = error;
  error_text_ = std::move(text);
}

void FrameScanner::refuse_length() {
  refuse(ErrorCode::TOO_LARGE, "the message is longer than " + std::to_string(limits_.frame) +
                                   " bytes, which is the limit frame");
}

void FrameScanner::reset() {
  position_ = 0;
  pending_ = 1;
  depth_ = 0;
  error_ = ErrorCode::OK;
}

}  // namespace seqd::protocol

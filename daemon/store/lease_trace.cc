#include "daemon/store/lease_trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace seqd {
namespace {

// The first bytes of a marked token; the fourth is the trace. 96 bits stay random.
constexpr std::array<std::uint8_t, 3> kMark = {0x5e, 0x9d, 0x1e};
constexpr std::uint8_t kTransaction = 0xa1;
constexpr std::uint8_t kSlot = 0xa2;
constexpr std::uint8_t kSession = 0xa3;
constexpr std::size_t kSaltAt = kMark.size() + 1;
// In the order of LeaseRecord::State.
constexpr std::array kStateWords = {"void", "sent", "granted", "parked", "forgotten"};

}  // namespace

const char* lease_trace_word(LeaseTrace trace) {
  switch (trace) {
    case LeaseTrace::transaction:
      return "transaction";
    case LeaseTrace::slot:
      return "slot";
    case LeaseTrace::session:
      return "session";
    case LeaseTrace::plain:
      break;
  }
  return "plain";
}

Token new_lease_token(Random& random, LeaseTrace trace) {
  Token token = random_token(random);
  if (trace == LeaseTrace::plain) {
    while (trace_of(token) != LeaseTrace::plain) token = random_token(random);
    return token;
  }
  std::copy(kMark.begin(), kMark.end(), token.begin());
  token[kMark.size()] = trace == LeaseTrace::transaction ? kTransaction
                        : trace == LeaseTrace::slot      ? kSlot
                                                         : kSession;
  return token;
}

SessionNumber session_number_of(const Token& token) {
  SessionNumber out;
  const auto* const salt = token.begin() + kSaltAt;
  std::copy_n(salt, out.salt.size(), out.salt.begin());
  for (std::size_t at = kSaltAt + out.salt.size(); at < token.size(); ++at)
    out.number = out.number * 256 + token[at];
  return out;
}

Token SessionTokens::next(Random& random) {
  // A session whose numbers are used up is followed by another one.
  if (number_ == 0 || number_ == std::numeric_limits<std::uint32_t>::max()) {
    newest_ = new_lease_token(random, LeaseTrace::session);
    number_ = 0;
  }
  ++number_;
  std::uint32_t rest = number_;
  for (std::size_t at = newest_.size(); at > newest_.size() - sizeof(rest); rest /= 256)
    newest_[--at] = static_cast<std::uint8_t>(rest % 256);
  return newest_;
}

LeaseTrace trace_of(const Token& token) {
  if (!std::equal(kMark.begin(), kMark.end(), token.begin())) return LeaseTrace::plain;
  switch (token[kMark.size()]) {
    case kTransaction:
      return LeaseTrace::transaction;
    case kSlot:
      return LeaseTrace::slot;
    case kSession:
      return LeaseTrace::session;
    default:
      return LeaseTrace::plain;
  }
}

const char* record_state_word(LeaseRecord::State state) {
  return kStateWords.at(static_cast<std::size_t>(state));
}

std::optional<LeaseRecord::State> record_state_of(std::string_view word) {
  const auto* const found = std::find(kStateWords.begin(), kStateWords.end(), word);
  if (found == kStateWords.end()) return std::nullopt;
  return static_cast<LeaseRecord::State>(found - kStateWords.begin());
}

std::string slot_of(const LeaseRequest& request) {
  std::string slot = to_hex(request.instance) + ":" + request.sequence;
  // No name of a sequence holds a tilde.
  std::replace(slot.begin(), slot.end(), '.', '~');
  return slot;
}

}  // namespace seqd

#include "daemon/store/lease_trace.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace seqd {
namespace {

// The first bytes of a marked token; the fourth tells the trace. 96 bits stay random.
constexpr std::array<std::uint8_t, 3> kMark = {0x5e, 0x9d, 0x1e};
constexpr std::uint8_t kLedger = 0xa1;
constexpr std::uint8_t kSlot = 0xa2;

}  // namespace

const char* lease_trace_word(LeaseTrace trace) {
  switch (trace) {
    case LeaseTrace::ledger:
      return "ledger";
    case LeaseTrace::slot:
      return "slot";
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
  token[kMark.size()] = trace == LeaseTrace::ledger ? kLedger : kSlot;
  return token;
}

LeaseTrace trace_of(const Token& token) {
  if (!std::equal(kMark.begin(), kMark.end(), token.begin())) return LeaseTrace::plain;
  switch (token[kMark.size()]) {
    case kLedger:
      return LeaseTrace::ledger;
    case kSlot:
      return LeaseTrace::slot;
    default:
      return LeaseTrace::plain;
  }
}

std::string lane_of(const LeaseRequest& request) {
  std::string lane = to_hex(request.instance) + ":" + request.sequence;
  // No name of a sequence holds a tilde.
  std::replace(lane.begin(), lane.end(), '.', '~');
  return lane;
}

}  // namespace seqd

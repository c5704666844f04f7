#include "daemon/core/context.h"

#include <cstring>

namespace seqd {

Token random_token(Random& random) {
  Token token;
  for (std::size_t at = 0; at < token.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random.next();
    std::memcpy(token.data() + at, &bits, sizeof bits);
  }
  return token;
}

}  // namespace seqd

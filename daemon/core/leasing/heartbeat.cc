#include "daemon/core/leasing/heartbeat.h"

namespace seqd {

Status older_copy(const std::string& where, std::int64_t known, std::int64_t found) {
  const std::string was =
      known == 0 ? "the entry of this host was there and is "
                 : "the heartbeat of this host was " + std::to_string(known) + " there and is ";
  return {ErrorCode::SEQ_REGRESSED,
          where + " was restored from an older copy: " + was +
              (found == 0 ? std::string("gone") : std::to_string(found)) +
              ", so IDs that were leased since the copy was made could be leased again"};
}

Status older_copy_met(const std::string& where) {
  return {ErrorCode::SEQ_REGRESSED,
          where +
              " was restored from an older copy, or another copy of it is in use: IDs that were "
              "leased since the copy was made could be leased again"};
}

}  // namespace seqd

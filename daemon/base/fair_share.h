// FairShare: how much of something limited each user holds, and whether one of them may have more.
// A user may hold up to `factor` times what is left: one user alone gets factor / (factor + 1) of
// all, and however many there are, something is left for the next one. A value; one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include "daemon/base/assertion.h"
#include "daemon/base/user_id.h"

namespace seqd {

class FairShare {
 public:
  // The factor by which one user alone gets three quarters of all.
  static constexpr std::int64_t kThreeQuarters = 3;

  FairShare(std::int64_t total, std::int64_t factor) : factor_(factor) { set_total(total); }

  void set_total(std::int64_t total) {
    ASSERT(total <= std::numeric_limits<std::int64_t>::max() / factor_);  // for allows()
    total_ = total;
  }
  std::int64_t total() const { return total_; }
  std::int64_t used() const { return used_; }
  std::int64_t used_by(UserId user) const {
    const auto found = by_user_.find(user);
    return found == by_user_.end() ? 0 : found->second;
  }

  // A user that holds nothing may have the last place.
  bool allows(UserId user, std::int64_t more) const {
    return allows_of(user, more, total_ - used_);
  }
  // The same where others, too, use of the total, and so much is free.
  bool allows_of(UserId user, std::int64_t more, std::int64_t free) const {
    const std::int64_t left = free - more;
    if (left < 0) return false;
    const std::int64_t mine = used_by(user);
    return mine == 0 || mine + more <= left * factor_;
  }

  // Does not check allows(): the caller decides.
  void take(UserId user, std::int64_t amount) {
    if (amount == 0) return;
    used_ += amount;
    by_user_[user] += amount;
  }
  void release(UserId user, std::int64_t amount) {
    if (amount == 0) return;
    const auto found = by_user_.find(user);
    ASSERT(found != by_user_.end() && found->second >= amount);
    used_ -= amount;
    found->second -= amount;
    if (found->second == 0) by_user_.erase(found);
  }

 private:
  std::int64_t total_ = 0;
  const std::int64_t factor_;
  std::int64_t used_ = 0;
  std::map<UserId, std::int64_t> by_user_;
};

}  // namespace seqd

// SpanShares: how many spans of the history each user has. If there is no room, the user with most
// spans loses some, so that no user can push out the history of others. The spans are counted at
// the first need, and from then on as they are added and removed; a small error of a count does no
// harm. A value of the HistoryFile; one thread at a time.
#pragma once

#include <cstdint>
#include <map>

#include "daemon/base/status.h"
#include "daemon/store/history/history_database.h"

namespace seqd {

class SpanShares {
 public:
  static constexpr std::int64_t kUnknownUser = -1;  // callers that are not known, or not recorded

  // Counts them, unless that was done.
  Status count(HistoryDatabase& database);
  void forget() {
    counted_ = false;
    users_.clear();
  }
  void add(std::int64_t uid, std::int64_t spans);
  void drop(std::int64_t uid, std::int64_t spans);
  std::int64_t largest() const;  // of the user with most, once they are counted
  // Nothing of this user was found.
  void forget_user(std::int64_t uid) { users_.erase(uid); }
  // The user with most spans, and up to which row all of them are gone; false: there is none.
  bool find_largest_user(std::int64_t& uid, std::int64_t& gone_up_to) const;
  void set_gone_up_to(std::int64_t uid, std::int64_t row) { users_[uid].gone_up_to = row; }

 private:
  struct Share {
    std::int64_t spans = 0;
    std::int64_t gone_up_to = 0;  // this row
  };
  bool counted_ = false;
  std::map<std::int64_t, Share> users_;
};

}  // namespace seqd

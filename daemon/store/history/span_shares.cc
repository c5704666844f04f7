// The only foreign API here is SQLite's.
#include "daemon/store/history/span_shares.h"

#include <algorithm>

namespace seqd {

Status SpanShares::count(HistoryDatabase& database) {
  if (counted_) return {};
  users_.clear();
  Result<SqliteStatement> statement = database.prepare(
      "SELECT coalesce(caller.uid, -1) AS user, count(*) FROM span LEFT JOIN caller ON caller.id = "
      "span.caller GROUP BY user");
  if (!statement.ok()) return statement.status();
  SqliteQuery query(*statement);
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) users_[query.integer(0)].spans = query.integer(1);
  if (code != SQLITE_DONE) return database.error();
  counted_ = true;
  return {};
}

void SpanShares::add(std::int64_t uid, std::int64_t spans) {
  if (counted_) users_[uid].spans += spans;
}

void SpanShares::drop(std::int64_t uid, std::int64_t spans) {
  const auto found = users_.find(uid);
  if (found != users_.end())
    found->second.spans = std::max<std::int64_t>(found->second.spans - spans, 0);
}

std::int64_t SpanShares::largest() const {
  std::int64_t largest = 0;
  for (const auto& [uid, share] : users_) largest = std::max(largest, share.spans);
  return largest;
}

bool SpanShares::find_largest_user(std::int64_t& uid, std::int64_t& gone_up_to) const {
  const auto found = std::max_element(
      users_.begin(), users_.end(),
      [](const auto& a, const auto& b) { return a.second.spans < b.second.spans; });
  if (found == users_.end()) return false;
  uid = found->first;
  gone_up_to = found->second.gone_up_to;
  return true;
}

}  // namespace seqd

#include "daemon/core/insert/insert_accounts.h"

#include "daemon/base/assertion.h"

namespace seqd {

InsertAccounts::Place::Place(InsertAccounts& accounts, RequestQueue& queue, FairShare& places,
                             SessionId session, UserId user, std::int64_t bytes)
    : accounts_(accounts),
      queue_(&queue),
      places_(places),
      session_(session),
      user_(user),
      bytes_(bytes) {
  ASSERT(bytes_ >= kEntryBytes);
  places_.take(user_, 1);
  ++accounts_.waiting_;
  ++accounts_.waits_[{session_, queue_}];
  accounts_.bytes_.take(user_, bytes_);
}

InsertAccounts::Place::~Place() {
  leave_session();
  places_.release(user_, 1);
  ASSERT(accounts_.waiting_ > 0);
  --accounts_.waiting_;
  accounts_.bytes_.release(user_, bytes_);
}

void InsertAccounts::Place::leave_session() {
  if (!std::exchange(of_session_, false)) return;
  const auto found = accounts_.waits_.find({session_, queue_});
  ASSERT(found != accounts_.waits_.end() && found->second > 0);
  if (--found->second == 0) accounts_.waits_.erase(found);
}

std::unique_ptr<InsertAccounts::Place> InsertAccounts::add(RequestQueue& queue, FairShare& places,
                                                           SessionId session, UserId user,
                                                           std::size_t document) {
  const std::int64_t bytes = static_cast<std::int64_t>(document) + kEntryBytes;
  if (!bytes_.allows(user, bytes)) return nullptr;
  return std::make_unique<Place>(*this, queue, places, session, user, bytes);
}

std::vector<RequestQueue*> InsertAccounts::waited_for_by(SessionId session) const {
  std::vector<RequestQueue*> queues;
  for (auto at = waits_.lower_bound({session, nullptr}); at != waits_.end(); ++at) {
    if (at->first.first != session) break;
    queues.push_back(at->first.second);
  }
  return queues;
}

}  // namespace seqd

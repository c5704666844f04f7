// Sessions: all sessions by their numbers and by their clients, and how many bytes wait to be sent
// to them. One a daemon; loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "daemon/base/fair_share.h"
#include "daemon/rpc/session.h"

namespace seqd {

class Sessions {
 public:
  // Bytes of a session that are not counted at once: most replies leave at the end of their turn.
  static constexpr std::size_t kUncounted = 16'384;

  // `most_output`: bytes that may wait for all sessions; one user gets a share.
  explicit Sessions(std::size_t most_output);
  void set_most_output(std::size_t bytes);

  // It lives until remove(). `transport` outlives it.
  Session& add(const Peer& peer, Transport& transport, const protocol::FrameLimits& limits);
  // True: it was the connection of its client, which has none now.
  bool remove(Session& session);
  Session* find(SessionId id);  // null when it is gone
  std::size_t size() const { return sessions_.size(); }
  void for_each(const std::function<void(const Session&)>& call) const;
  // Those with a higher number than `after`, in the order of their numbers: `most` at most.
  std::vector<const Session*> page(SessionId after, std::size_t most) const;

  // `session` is now the one connection of `client`. The one before it, which is to be ended; null:
  // there was none.
  Session* bind(Session& session, ClientId client);

  // Whether `more` bytes may wait for this session's user.
  bool has_output_left(const Session& session, std::int64_t more) const;
  // Its unsent bytes have changed by much, or are fewer.
  void count_unsent(Session& session);

  const RefusalCounts& refusals() const { return refusals_; }

 private:
  SessionId next_ = 1;
  RefusalCounts refusals_{};  // of all that there were
  std::unordered_map<SessionId, std::unique_ptr<Session>> sessions_;
  std::set<SessionId> order_;  // of sessions_, for page()
  std::unordered_map<ClientId, SessionId> by_client_;
  FairShare unsent_;  // bytes that wait to be sent, by user
};

}  // namespace seqd

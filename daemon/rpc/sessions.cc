#include "daemon/rpc/sessions.h"

#include "daemon/base/assertion.h"

namespace seqd {

Sessions::Sessions(std::size_t most_output) : unsent_(static_cast<std::int64_t>(most_output), 1) {}

void Sessions::set_most_output(std::size_t bytes) {
  unsent_.set_total(static_cast<std::int64_t>(bytes));
}

Session& Sessions::add(const Peer& peer, Transport& transport,
                       const protocol::FrameLimits& limits) {
  const SessionId id = next_++;
  order_.insert(order_.end(), id);
  return *sessions_.emplace(id, std::make_unique<Session>(id, peer, transport, limits, refusals_))
              .first->second;
}

bool Sessions::remove(Session& session) {
  const auto bound = by_client_.find(session.client);
  const bool was_bound =
      session.client != 0 && bound != by_client_.end() && bound->second == session.id;
  if (was_bound) by_client_.erase(bound);
  session.out.clear();
  session.sending = 0;
  count_unsent(session);
  ASSERT(session.counted == 0);
  order_.erase(session.id);
  const std::size_t erased = sessions_.erase(session.id);
  ASSERT(erased == 1);
  return was_bound;
}

Session* Sessions::find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void Sessions::for_each(const std::function<void(const Session&)>& call) const {
  for (const auto& [id, session] : sessions_) call(*session);
}

std::vector<const Session*> Sessions::page(SessionId after, std::size_t most) const {
  std::vector<const Session*> out;
  for (auto at = order_.upper_bound(after); at != order_.end() && out.size() < most; ++at)
    out.push_back(sessions_.at(*at).get());
  return out;
}

Session* Sessions::bind(Session& session, ClientId client) {
  ASSERT(client != 0 && (session.client == 0 || session.client == client));
  session.client = client;
  const auto [bound, first] = by_client_.try_emplace(client, session.id);
  if (first || bound->second == session.id) return nullptr;
  Session* const older = find(bound->second);
  ASSERT(older != nullptr);
  bound->second = session.id;
  return older;
}

bool Sessions::has_output_left(const Session& session, std::int64_t more) const {
  return unsent_.allows(session.peer.uid, more);
}

void Sessions::count_unsent(Session& session) {
  const std::size_t now = session.unsent();
  unsent_.release(session.peer.uid, static_cast<std::int64_t>(session.counted));
  unsent_.take(session.peer.uid, static_cast<std::int64_t>(now));
  session.counted = now;
}

}  // namespace seqd

#include "daemon/core/clients/replay_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// A user alone may have seven eighths of the clients, and half of what is kept for repeats.
constexpr std::int64_t kClientsFactor = 7;
constexpr std::int64_t kIssuesFactor = 1;
// One client may have a quarter: what a user is left with beside another one that takes all it can.
constexpr std::size_t kClientsPart = 4;

std::uint32_t window_of(const ReplayTable::Limits& limits) {
  const std::size_t part = std::max<std::size_t>(limits.issues / kClientsPart, 1);
  return static_cast<std::uint32_t>(std::min<std::size_t>(limits.unacknowledged, part));
}

// Of what is kept by user, one of the user that holds most of the share. Only if there is one.
template <typename ByUser>
auto of_most(ByUser& by_user, const FairShare& share) {
  return std::max_element(by_user.begin(), by_user.end(), [&share](const auto& a, const auto& b) {
    return share.used_by(a.first) < share.used_by(b.first);
  });
}

}  // namespace

ReplayTable::ReplayTable(RemainderLog& log, const Limits& limits)
    : log_(log),
      limits_(limits),
      client_shares_(static_cast<std::int64_t>(limits.clients), kClientsFactor),
      entry_shares_(static_cast<std::int64_t>(limits.issues), kIssuesFactor),
      window_(window_of(limits)) {}

void ReplayTable::set_limits(const Limits& limits) {
  limits_ = limits;
  client_shares_.set_total(static_cast<std::int64_t>(limits.clients));
  entry_shares_.set_total(static_cast<std::int64_t>(limits.issues));
  window_ = window_of(limits);
}

// --- clients

ReplayTable::Client& ReplayTable::add(ClientId id, const Token& identity, UserId user) {
  const auto [place, fresh] = clients_.try_emplace(id);
  ASSERT(id != 0 && fresh);
  Client& client = place->second;
  client.identity = identity;
  client.user = user;
  client_shares_.take(user, 1);
  by_identity_[identity] = id;
  return client;
}

void ReplayTable::move_to(Client& client, UserId user) {
  ASSERT(client.connected);  // a disconnected client is listed by user
  client_shares_.release(client.user, 1);
  entry_shares_.release(client.user, client.entries);
  client.user = user;
  client_shares_.take(user, 1);
  entry_shares_.take(user, client.entries);
}

void ReplayTable::leave(ClientId id, Client& client, std::int64_t now_ms) {
  std::list<ClientId>& gone = gone_[client.user];
  client.connected = false;
  client.gone_since_ms = now_ms;
  client.gone = gone.insert(gone.end(), id);
}

void ReplayTable::come_back(Client& client) {
  if (client.connected) return;
  const auto gone = gone_.find(client.user);
  ASSERT(gone != gone_.end() && !gone->second.empty());
  gone->second.erase(client.gone);
  if (gone->second.empty()) gone_.erase(gone);
  client.connected = true;
}

void ReplayTable::restore(const StateImage& image, std::int64_t now_ms) {
  ASSERT(clients_.empty());
  next_ = image.next_numbers.client;
  for (const auto& [id, from] : image.clients) {
    Client& client = add(id, from.identity, from.user);
    client.floor = from.acknowledged_below;
    leave(id, client, now_ms);
    for (const Issued& issue : from.retained) record(issue);
  }
  // The limits were higher when these were accepted: those of the user that holds most are removed
  // first.
  while (entry_shares_.used() > entry_shares_.total() && !gone_.empty())
    forget(of_most(gone_, entry_shares_)->second.front());
  while (client_shares_.used() > client_shares_.total() && !gone_.empty())
    forget(of_most(gone_, client_shares_)->second.front());
}

void ReplayTable::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  entry(NextNumbers{1, 1, next_});
  for (const auto& [id, client] : clients_) {
    entry(DefineClient{id, client.identity});
    if (client.user != kUnknownUser) entry(ClientUser{id, client.user});
    if (client.floor > 0) entry(Acknowledged{id, client.floor});
    for (const Issued& issue : client.issues) entry(RetainedIssue{issue});
  }
}

Result<ReplayTable::Attached> ReplayTable::attach(const Token& identity, UserId user) {
  if (const auto known = by_identity_.find(identity); known != by_identity_.end()) {
    Client& client = clients_.at(known->second);
    come_back(client);
    if (client.user != user) {
      move_to(client, user);
      log_.append(ClientUser{known->second, user});
    }
    return Attached{known->second, true};
  }
  if (next_ > kLastClient) {
    return Status(ErrorCode::EXHAUSTED,
                  "this state directory has no number left for another client with an identity");
  }
  if (!make_room(client_shares_, user, 1)) {
    return Status(ErrorCode::BUSY, "this user has " + std::to_string(client_shares_.used_by(user)) +
                                       " of " + std::to_string(client_shares_.used()) +
                                       " connected clients with an identity; " +
                                       std::to_string(limits_.clients) +
                                       " are allowed, and one user may not have all of them "
                                       "(limits.max_retry_clients)");
  }
  const ClientId id = next_++;
  add(id, identity, user).connected = true;
  log_.append(DefineClient{id, identity});
  log_.append(ClientUser{id, user});
  return Attached{id, false};
}

void ReplayTable::detach(ClientId id, std::int64_t now_ms) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || !found->second.connected) return;
  leave(id, found->second, now_ms);
}

void ReplayTable::expire(std::int64_t now_ms) {
  std::vector<ClientId> expired;
  for (const auto& [user, gone] : gone_) {
    for (const ClientId id : gone) {
      if (now_ms - clients_.at(id).gone_since_ms < limits_.remember_ms) break;
      expired.push_back(id);
    }
  }
  for (const ClientId id : expired) forget(id);
}

// Forgets clients that are gone until the share allows `more` for the user: its own ones, then
// those of the user that holds most, if that is more than this one holds.
bool ReplayTable::make_room(const FairShare& share, UserId user, std::int64_t more) {
  while (!share.allows(user, more)) {
    auto from = gone_.find(user);
    if (from == gone_.end()) {
      from = of_most(gone_, share);
      if (from == gone_.end() || share.used_by(from->first) <= share.used_by(user)) return false;
    }
    ASSERT(!from->second.empty());
    forget(from->second.front());
  }
  return true;
}

void ReplayTable::forget(ClientId id) {
  const auto found = clients_.find(id);
  ASSERT(found != clients_.end() && !found->second.connected);
  Client& client = found->second;
  for (const Issued& issue : client.issues) dropped(issue, client);
  entry_shares_.release(client.user, client.entries);  // set aside
  client_shares_.release(client.user, 1);
  // A log that names one identity twice leads to the last one.
  const auto named = by_identity_.find(client.identity);
  if (named != by_identity_.end() && named->second == id) by_identity_.erase(named);
  come_back(client);
  clients_.erase(found);
  log_.append(ForgetClient{id});
}

// --- what is kept

ReplayTable::Seen ReplayTable::check(ClientId id, std::uint32_t request) {
  const Client& client = clients_.at(id);
  if (request < client.floor) return Seen::acknowledged;
  // A repeat has its IDs, also where the window was larger when they were issued.
  const bool fresh = request > client.issues.newest() || client.issues.find(request).empty();
  if (!fresh) return Seen::repeat;
  // Request numbers begin at 1, so a floor of 0 means the same as one of 1.
  if (request - std::max(client.floor, 1U) >= window_) return Seen::too_far;
  if (client.entries >= window_) return Seen::too_far;
  const bool room =
      entry_shares_.allows(client.user, 1) || make_room(entry_shares_, client.user, 1);
  return room ? Seen::fresh : Seen::full;
}

bool ReplayTable::may_keep(ClientId id, std::int64_t entries) {
  const Client& client = clients_.at(id);
  ASSERT(entries >= 0);
  return client.entries + entries <= window_ && make_room(entry_shares_, client.user, entries);
}

void ReplayTable::set_aside(ClientId id) {
  Client& client = clients_.at(id);
  ++client.entries;
  entry_shares_.take(client.user, 1);
}

void ReplayTable::release(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  ASSERT(client.entries > static_cast<std::int64_t>(client.issues.size()));
  --client.entries;
  entry_shares_.release(client.user, 1);
}

std::vector<Issued> ReplayTable::find(ClientId id, std::uint32_t request) const {
  return clients_.at(id).issues.find(request);
}

void ReplayTable::record(const Issued& issue) {
  Client& client = clients_.at(issue.client);
  const int more = client.issues.add(issue);
  if (more == 1) {
    ++client.entries;
    entry_shares_.take(client.user, 1);
    ++kept_[issue.sequence];
  } else if (more == -1) {
    dropped(issue, client);
  }
}

void ReplayTable::dropped(const Issued& issue, Client& client) {
  --client.entries;
  entry_shares_.release(client.user, 1);
  const auto kept = kept_.find(issue.sequence);
  ASSERT(kept != kept_.end() && kept->second > 0);
  if (--kept->second == 0) kept_.erase(kept);
}

void ReplayTable::acknowledge(ClientId id, std::uint32_t below) {
  Client& client = clients_.at(id);
  if (below <= client.floor) return;
  client.floor = below;
  client.issues.acknowledge(below, [&](const Issued& issue) { dropped(issue, client); });
  log_.append(Acknowledged{id, below});
}

std::size_t ReplayTable::retained(ClientId id) const {
  return clients_.at(id).issues.size();
}

}  // namespace seqd

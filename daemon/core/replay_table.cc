#include "daemon/core/replay_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace seqd {

std::uint32_t ReplayTable::last_request(const Issued& issue) {
  if (!is_one_each(issue.kind)) return issue.request;
  return issue.request + static_cast<std::uint32_t>(issue.end - issue.begin - 1);
}

void ReplayTable::restore(const StateImage& image, std::int64_t now_ms) {
  CHECK(clients_.empty());
  next_ = image.next_numbers.client;
  for (const auto& [id, from] : image.clients) {
    Client& client = clients_[id];
    client.identity = from.identity;
    client.floor = from.acknowledged_below;
    client.gone_since_ms = now_ms;
    client.gone = gone_.insert(gone_.end(), id);
    by_identity_[from.identity] = id;
    for (const Issued& issue : from.retained) record(issue);
  }
}

void ReplayTable::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  entry(NextNumbers{1, 1, next_});
  for (const auto& [id, client] : clients_) {
    entry(DefineClient{id, client.identity});
    if (client.floor > 0) entry(Acknowledged{id, client.floor});
    for (const Issued& issue : client.issues) entry(RetainedIssue{issue});
  }
}

Result<ReplayTable::Attached> ReplayTable::attach(const Token& identity) {
  if (const auto known = by_identity_.find(identity); known != by_identity_.end()) {
    Client& client = clients_.at(known->second);
    if (!client.connected) gone_.erase(client.gone);
    client.connected = true;
    return Attached{known->second, true};
  }
  if (clients_.size() >= limits_.clients) {
    if (gone_.empty()) {
      return Status(ErrorCode::BUSY,
                    "there are " + std::to_string(limits_.clients) +
                        " clients with an identity already (limits.max_clients_remembered)");
    }
    forget(gone_.front());
  }
  const ClientId id = next_++;
  Client& client = clients_[id];
  client.identity = identity;
  client.connected = true;
  by_identity_[identity] = id;
  log_.append(DefineClient{id, identity});
  return Attached{id, false};
}

void ReplayTable::detach(ClientId id, std::int64_t now_ms) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || !found->second.connected) return;
  found->second.connected = false;
  found->second.gone_since_ms = now_ms;
  found->second.gone = gone_.insert(gone_.end(), id);
}

void ReplayTable::expire(std::int64_t now_ms) {
  while (!gone_.empty() &&
         now_ms - clients_.at(gone_.front()).gone_since_ms >= limits_.remember_ms) {
    forget(gone_.front());
  }
}

void ReplayTable::forget(ClientId id) {
  const auto found = clients_.find(id);
  issues_ -= found->second.issues.size();
  by_identity_.erase(found->second.identity);
  gone_.erase(found->second.gone);
  clients_.erase(found);
  log_.append(ForgetClient{id});
}

ReplayTable::Seen ReplayTable::check(ClientId id, std::uint32_t request) {
  const Client& client = clients_.at(id);
  if (request < client.floor) return Seen::acknowledged;
  // Request numbers begin at 1, so a floor of 0 says no more than one of 1.
  if (request - std::max(client.floor, 1U) >= limits_.unacknowledged) return Seen::too_far;
  const bool fresh = request > client.newest || client.issues.empty() || find(id, request).empty();
  if (!fresh) return Seen::repeat;
  if (client.issues.size() >= limits_.issues_per_client) return Seen::too_far;
  // Clients that are gone make room for those that are there.
  while (issues_ >= limits_.issues && !gone_.empty()) forget(gone_.front());
  return issues_ < limits_.issues ? Seen::fresh : Seen::too_far;
}

std::vector<Issued> ReplayTable::find(ClientId id, std::uint32_t request) const {
  const std::vector<Issued>& issues = clients_.at(id).issues;
  auto at = std::partition_point(issues.begin(), issues.end(), [&](const Issued& issue) {
    return last_request(issue) < request;
  });
  std::vector<Issued> out;
  for (; at != issues.end() && at->request <= request; ++at) {
    Issued one = *at;
    if (is_one_each(one.kind)) {
      one.begin += request - one.request;
      one.end = one.begin + 1;
      one.request = request;
    }
    out.push_back(one);
  }
  return out;
}

void ReplayTable::record(const Issued& issue) {
  Client& client = clients_.at(issue.client);
  std::vector<Issued>& issues = client.issues;
  client.newest = std::max(client.newest, last_request(issue));
  if (!issues.empty()) {
    Issued& back = issues.back();
    if (is_one_each(issue.kind) && back.kind == issue.kind && back.wall_s == issue.wall_s &&
        back.sequence == issue.sequence && back.end == issue.begin &&
        last_request(back) + 1 == issue.request) {
      back.end = issue.end;
      return;
    }
  }
  // Nearly always the end: a request that waited may be issued after younger ones.
  const auto at =
      std::upper_bound(issues.begin(), issues.end(), issue,
                       [](const Issued& a, const Issued& b) { return a.request < b.request; });
  issues.insert(at, issue);
  ++issues_;
  // Several may have been let in before the first of them was issued anything.
  while (issues_ > limits_.issues && !gone_.empty() && gone_.front() != issue.client) {
    forget(gone_.front());
  }
}

void ReplayTable::acknowledge(ClientId id, std::uint32_t below) {
  Client& client = clients_.at(id);
  if (below <= client.floor) return;
  client.floor = below;
  issues_ -= std::erase_if(client.issues,
                           [&](const Issued& issue) { return last_request(issue) < below; });
  log_.append(Acknowledged{id, below});
}

bool ReplayTable::keeps(SequenceId sequence) const {
  return std::any_of(clients_.begin(), clients_.end(), [sequence](const auto& client) {
    const std::vector<Issued>& issues = client.second.issues;
    return std::any_of(issues.begin(), issues.end(),
                       [sequence](const Issued& one) { return one.sequence == sequence; });
  });
}

std::size_t ReplayTable::retained(ClientId id) const {
  return clients_.at(id).issues.size();
}

}  // namespace seqd

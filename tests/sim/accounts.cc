#include "tests/sim/accounts.h"

#include "daemon/core/text/period.h"

namespace seqd::sim {

void Accounts::violation(const std::string& name, std::int64_t begin, std::int64_t end,
                         const char* what) const {
  history_.violation("[" + std::to_string(begin) + ", " + std::to_string(end) + ") of \"" + name +
                     "\" " + what);
}

const std::string& Accounts::counter_of(const std::string& name) const {
  const auto found = counters_.find(name);
  return found == counters_.end() ? name : found->second;
}

void Accounts::add_grant(const std::string& name, std::int64_t begin, const Grant& grant) {
  Account& account = account_of(name);
  if (!account.granted.add_new(begin, grant.end)) {
    violation(name, begin, grant.end, "was granted twice: the simulated store is wrong");
  }
  account.grants[begin] = grant;
}

void Accounts::granted(const std::string& name, std::int64_t begin, std::int64_t end,
                       const Token& token) {
  add_grant(name, begin, {end, token, true});
}

void Accounts::granted_elsewhere(const std::string& name, std::int64_t begin, std::int64_t end) {
  add_grant(name, begin, {end, {}, false});
}

void Accounts::recorded(const std::string& name, std::int64_t begin, std::int64_t end,
                        const Token& token) {
  const Account& account = account_of(name);
  const auto found = account.grants.find(begin);
  if (found == account.grants.end() || found->second.end != end || found->second.token != token) {
    violation(name, begin, end, "is in a log as leased, and the store did not grant it");
  }
}

void Accounts::issued(const std::string& name, std::int64_t begin, std::int64_t end) {
  Account& account = account_of(name);
  if (account.taken.overlaps(begin, end))
    violation(name, begin, end, "is issued, and was taken of a block");
  if (!account.issued.add_new(begin, end)) violation(name, begin, end, "was issued twice");
}

void Accounts::issued_of_block(const std::string& name, std::int64_t begin, std::int64_t end) {
  Account& account = account_of(name);
  if (!account.taken.contains(begin, end))
    violation(name, begin, end, "is issued of a block, and no client took it");
  if (!account.issued.add_new(begin, end)) violation(name, begin, end, "was issued twice");
}

void Accounts::taken(const std::string& name, std::int64_t begin, std::int64_t end) {
  Account& account = account_of(name);
  if (account.issued.overlaps(begin, end))
    violation(name, begin, end, "is taken of a block, and was issued");
  if (!account.taken.add_new(begin, end)) violation(name, begin, end, "is taken twice");
}

void Accounts::answered(const std::string& name, std::int64_t begin, std::int64_t end) {
  Account& account = account_of(name);
  if (!account.answered.add_new(begin, end)) {
    violation(name, begin, end, "was given to two requests");
  }
  if (!account.issued.contains(begin, end)) {
    violation(name, begin, end, "is in a reply that left before its record was written");
  }
}

void Accounts::written(const std::string& name, const std::string& text) {
  const bool is_new =
      texts_[std::string(base_of(name))].insert(std::hash<std::string>()(text)).second;
  if (!is_new) history_.violation("\"" + text + "\" of \"" + name + "\" was given to two requests");
}

void Accounts::gap(const std::string& name, std::int64_t begin, std::int64_t end) {
  account_of(name).never.add(begin, end);
}

void Accounts::kept(const std::string& name, std::int64_t begin, std::int64_t end,
                    const Token& token) {
  if (returned_.contains(token)) violation(name, begin, end, "is a gap, and was returned");
  kept_.insert(token);
}

void Accounts::returned(const std::string& name, std::int64_t begin, std::int64_t end,
                        const Token& token) {
  Account& account = account_of(name);
  if (kept_.contains(token)) violation(name, begin, end, "was returned, and was a gap before");
  returned_.insert(token);
  if (account.issued.overlaps(begin, end)) {
    violation(name, begin, end, "was returned, though it was issued");
  }
  auto grant = account.grants.upper_bound(begin);
  // What comes back of a block may lie in front of IDs that were issued.
  if (grant == account.grants.begin() || std::prev(grant)->second.end < end) {
    violation(name, begin, end, "was returned, and is no part of what was granted");
  }
  --grant;
  Grant behind = grant->second;
  if (end < behind.end) account.grants[end] = behind;
  grant->second.end = begin;
  if (grant->first == begin) account.grants.erase(grant);
  account.granted.remove(begin, end);
}

void Accounts::destroyed(const std::string& name, std::int64_t begin, std::int64_t end) {
  account_of(name).never.add(begin, end);
}

void Accounts::check(const std::map<std::string, IntervalSet>& available) const {
  for (const auto& [name, account] : accounts_) {
    IntervalSet open;
    for (const auto& [begin, grant] : account.grants) {
      if (grant.ours && !given_up_.contains(grant.token)) open.add(begin, grant.end);
    }
    open.remove(account.issued);
    open.remove(account.never);
    // What was taken is issued, a gap, still in its block, or of a lease that was given up.
    IntervalSet lost = account.taken;
    for (const auto& [begin, grant] : account.grants) {
      if (given_up_.contains(grant.token)) lost.remove(begin, grant.end);
    }
    lost.remove(account.issued);
    lost.remove(account.never);
    const auto held = available.find(name);
    if (held != available.end()) open.remove(held->second);
    if (held != available.end()) lost.remove(held->second);
    if (!lost.empty()) {
      const auto [begin, end] = *lost.intervals().begin();
      violation(name, begin, end, "was taken of a block, and nobody counts it");
    }
    if (open.empty()) continue;
    const auto [begin, end] = *open.intervals().begin();
    violation(name, begin, end,
              "is unaccounted for: granted, and neither issued, available, a gap nor given up");
  }
}

std::int64_t Accounts::issued() const {
  std::int64_t sum = 0;
  for (const auto& [name, account] : accounts_) sum += account.issued.size();
  return sum;
}

}  // namespace seqd::sim

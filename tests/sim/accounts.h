// Accounts: what became of every ID of every counter, over all daemons, stores and foreign
// writers: the one place that sees all of them. An ID is granted once, issued once and answered
// once, or the simulation ends; and at the end every ID that was granted is accounted for. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "daemon/core/leasing/lease_store.h"
#include "tests/sim/history.h"
#include "tests/sim/mirror/interval_set.h"

namespace seqd::sim {

class Accounts {
 public:
  explicit Accounts(const History& history) : history_(history) {}

  // Two sequences take their IDs of one counter. Elsewhere here, `name` may be that of either.
  void share(const std::string& name, const std::string& counter) { counters_[name] = counter; }
  const std::string& counter_of(const std::string& name) const;

  // The store has committed a lease.
  void granted(const std::string& name, std::int64_t begin, std::int64_t end, const Token& token);
  // The same for somebody who is not seqd, or for nobody.
  void granted_elsewhere(const std::string& name, std::int64_t begin, std::int64_t end);
  // A daemon's log says that it was granted this.
  void recorded(const std::string& name, std::int64_t begin, std::int64_t end, const Token& token);
  // A daemon's log says that it gave this lease up, though the store may have granted it.
  void given_up(const Token& token) { given_up_.insert(token); }
  // A daemon's log says that these were issued.
  void issued(const std::string& name, std::int64_t begin, std::int64_t end);
  // The same of a block that is over: its client has taken just these.
  void issued_of_block(const std::string& name, std::int64_t begin, std::int64_t end);
  // A client has taken these of a block.
  void taken(const std::string& name, std::int64_t begin, std::int64_t end);
  // A reply with these has left a daemon, for the first time.
  void answered(const std::string& name, std::int64_t begin, std::int64_t end);
  // The same of an ID as text: no two of them are alike, nor of periods of one name.
  void written(const std::string& name, const std::string& text);
  // A daemon's log says that these will never be issued.
  void gap(const std::string& name, std::int64_t begin, std::int64_t end);
  // The store has committed that these, the rest of a lease, were returned.
  void returned(const std::string& name, std::int64_t begin, std::int64_t end, const Token& token);
  // An older copy of the store is in place, which does not know of this return.
  void not_returned(const Token& token) { returned_.erase(token); }
  // A daemon's log says that the return of this token was not applied and never will be.
  void kept(const std::string& name, std::int64_t begin, std::int64_t end, const Token& token);
  // What said that these were available was destroyed, by the operator or by the disk.
  void destroyed(const std::string& name, std::int64_t begin, std::int64_t end);

  // All that the store granted is issued, a gap, given up, destroyed, or somebody's.
  void check(const std::map<std::string, IntervalSet>& available) const;
  std::int64_t issued() const;

 private:
  struct Grant {
    std::int64_t end = 0;
    Token token{};
    bool ours = false;
  };
  struct Account {
    std::map<std::int64_t, Grant> grants;  // by begin
    IntervalSet granted;
    IntervalSet issued;
    IntervalSet answered;
    IntervalSet taken;  // of blocks
    IntervalSet never;  // gaps, and what was destroyed
  };

  Account& account_of(const std::string& name) { return accounts_[counter_of(name)]; }
  void add_grant(const std::string& name, std::int64_t begin, const Grant& grant);
  [[noreturn]] void violation(const std::string& name, std::int64_t begin, std::int64_t end,
                              const char* what) const;

  const History& history_;
  std::map<std::string, std::string> counters_;  // of sequences whose counter has another name
  std::map<std::string, Account> accounts_;
  std::map<std::string, std::unordered_set<std::size_t>, std::less<>> texts_;  // their hashes
  std::set<Token> given_up_;
  std::set<Token> returned_, kept_;  // returns
};

}  // namespace seqd::sim

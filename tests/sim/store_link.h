// StoreLink: the stores' side of one daemon: the way to a Database, on which requests and answers
// are lost, come late or come twice, and the driver gives up after a time. Owned by its process;
// one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/log/log_entry.h"
#include "tests/sim/database.h"
#include "tests/sim/stage.h"

namespace seqd::sim {

// The daemon at this end of the link.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual std::int64_t number() const = 0;
  // What runs an event in the daemon after a delay, unless the daemon has ended by then. It may be
  // called when the daemon has ended.
  using Later = std::function<void(std::int64_t delay_ms, std::function<void()> event)>;
  virtual Later later() = 0;
  // A call leaves: whether what has to be durable before is durable.
  virtual bool intent_is_durable(const Token& token) const = 0;
  virtual bool claim_is_durable(const Token& nonce) const = 0;
  // Whether it is one that the hosts are configured for, and not one that a sequence moved to.
  virtual bool is_home(const std::string& store, const std::string& key) const = 0;
  // What its log knows of the heartbeat in this store.
  virtual StoreHeartbeat heartbeat(const std::string& store) const = 0;
  // The daemon hears nothing of a call, or that it is refused.
  virtual void store_failed(const std::string& store) = 0;
  // A range of which it has something, available or in a block, that a spoilt store might take for
  // one that was returned.
  virtual std::optional<std::pair<std::int64_t, std::int64_t>> held_of(
      const std::string& sequence) = 0;
};

class StoreLink final : public LeaseStore, public PurgeStore {
 public:
  // `elsewhere`: the configuration names another database, which says who it is and nothing else.
  // So no ID has two meanings in the accounts, and every question about the former one shows.
  StoreLink(Stage& stage, Database& database, LinkOwner& owner, bool elsewhere)
      : stage_(stage), database_(database), owner_(owner), elsewhere_(elsewhere) {}

  const std::string& name() const { return database_.name(); }
  StorePlace place() const override {
    return {(elsewhere_ ? "elsewhere, " : "at home, ") + name(), {}};
  }
  void identify(const Token& candidate, std::function<void(Result<Token>)> done) override;
  void lease(const LeaseRequest& request, std::function<void(LeaseOutcome)> done) override;
  void resolve(const LeaseRequest& request, std::function<void(Resolution)> done) override;
  void claim(const ClaimRequest& request, std::function<void(Result<ClaimOutcome>)> done) override;
  void beat(const BeatRequest& request, std::function<void(Result<BeatOutcome>)> done) override;
  void read(const ReadRequest& request, std::function<void(Result<CounterReading>)> done) override;
  void advance(const AdvanceRequest& request,
               std::function<void(Result<std::int64_t>)> done) override;
  void return_range(const ReturnRequest& request, std::function<void(ReturnOutcome)> done) override;
  void forget(const ForgetRequest& request,
              std::function<void(Result<InstanceRecords>)> done) override;
  void find_counters(const CounterQuery& query,
                     std::function<void(Result<CounterPage>)> done) override;
  void remove_counters(const CounterRemoval& removal,
                       std::function<void(std::vector<RemovalOutcome>)> done) override;

 private:
  // What becomes of one call.
  template <typename Outcome>
  struct Call {
    // At the database, with where the answer goes.
    std::function<void(std::function<void(Outcome)>)> apply;
    std::function<void(Outcome)> done;
    // Without an answer in time; and when it did not get there, for a while or for good.
    Outcome unknown;
    Outcome refused;
    Outcome denied;
  };
  template <typename Outcome>
  void make(Call<Outcome> call);
  template <typename... Parts>
  void note(const char* verb, const Parts&... parts) {
    stage_.transcript.asked(owner_.number(), name(), verb, parts...);
  }
  void leaves(const std::string& sequence);
  void make_reappear(LeaseOutcome& outcome, const LeaseRequest& request);
  void knows_the_heartbeat(const LeaseRequest& request);
  // Refuses calls to a counter that is missing and is never made: a sequence that was moved issues
  // nothing until it is moved back, so no ID has two meanings in the accounts. False: it exists.
  template <typename Outcome>
  bool refuse_missing(const CounterBinding& binding, const std::function<void(Outcome)>& done,
                      const Outcome& refused);
  // Another database is asked about something that it cannot know.
  void of_the_former(const char* what);
  template <typename Outcome>
  bool refuse_elsewhere(const std::function<void(Outcome)>& done, const Outcome& refused);

  Stage& stage_;
  Database& database_;
  LinkOwner& owner_;
  const bool elsewhere_;
  std::set<std::string> under_way_;  // sequences with a lease at the store
};

}  // namespace seqd::sim

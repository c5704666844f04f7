// Simulation: one world made from a seed: machines, daemons, stores, clients and trouble, run event
// by event and then brought to rest, when every request must be answered and every ID accounted
// for. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/clients/client.h"
#include "tests/sim/clients/thief.h"
#include "tests/sim/database.h"
#include "tests/sim/machine.h"
#include "tests/sim/site.h"
#include "tests/sim/stage.h"
#include "tests/sim/trouble.h"

namespace seqd::sim {

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, const Printed& printed = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs `events` events, and as many more as it takes to come to rest.
  void run(std::uint64_t events);

  Stage& stage() { return stage_; }

 private:
  void configure();
  void draw_progression(const std::string& name);
  // Where a sequence's counter is.
  Database& database_of(const std::string& name);
  void check_floors(const std::map<std::string, IntervalSet>& available);
  Site& add_site(Machine& machine, const std::string& state_path);
  void add_client(Site& site, bool identified);
  void add_thief(Site& site);
  void run_for(std::int64_t ms);
  bool at_rest() const;
  std::string unsettled() const;  // which clients and daemons are not at rest
  void come_to_rest();

  Stage stage_;
  ConfiguredSequences settings_;
  Database plain_{stage_, "plain", false};
  Database ledger_{stage_, "ledger", true};
  const std::vector<Database*> databases_{&plain_, &ledger_};
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Thief>> thieves_;
  TroubleMaker trouble_;
};

}  // namespace seqd::sim

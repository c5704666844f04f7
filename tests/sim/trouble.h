// TroubleMaker: everything that goes wrong of its own accord: it kills, cuts the power, breaks
// disks, copies and restores directories, takes stores away and spoils their counters, as often as
// the profile says. Belongs to the simulation; one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/database.h"
#include "tests/sim/machine.h"
#include "tests/sim/site.h"
#include "tests/sim/stage.h"

namespace seqd::sim {

class TroubleMaker {
 public:
  using AddSite = std::function<Site&(Machine& machine, const std::string& state_path)>;

  TroubleMaker(Stage& stage, const std::vector<std::unique_ptr<Machine>>& machines,
               const std::vector<std::unique_ptr<Site>>& sites,
               const std::vector<Database*>& databases, AddSite add_site)
      : stage_(stage),
        machines_(machines),
        sites_(sites),
        databases_(databases),
        add_site_(std::move(add_site)) {}

  // Begins, and goes on by itself until the stage is calm.
  void begin();
  // The disk has ended a daemon there: sometimes it was the power that failed.
  void killed(Site& site);
  // Takes back what would not pass by itself.
  void make_peace();

 private:
  // A copy of a state directory, made file by file while its daemon goes on.
  struct Copy {
    const Site* of = nullptr;
    MemoryDisk::Contents contents;
  };

  void make(Trouble trouble);
  bool may_cut_power() const {
    return stage_.profile.weights[static_cast<std::size_t>(Trouble::cut_power)] > 0;
  }
  Site* any_site();
  Machine& any_machine();
  const char* any_sequence();
  Database& any_database();

  void kill(Site& site);
  void kill_now(Site& site);
  void kill_at_operation(Site& site);
  void fail_operation(Site& site);
  void fill_disk(Site& site);
  void cut_power(Machine& machine);
  void remove_witness(Machine& machine);
  void rot(Site& site);
  void rot_newest(Site& site);
  void flip_bit(Site& site, MemoryDisk::Inode& inode, std::size_t at);
  void fill_log(Site& site);
  void forget_pages(Machine& machine);
  void clone(Site& site);
  void begin_copy(Site& site);
  void copy_on(Site& site, Copy copy, std::size_t step);
  const Copy* copy_of(const Site& site) const;
  void restore(Site& site);
  void replace_running(Site& site);
  void lose_directory(Site& site);
  void configure_otherwise(Site& site);
  void change_database(Site& site);
  void put_back_database();
  void end_somehow(Site& site);
  void write_elsewhere();
  void spoil_counter();
  void spoil_type();
  void advance(Site& site);
  // A sequence's name, of one with periods that of one of them.
  std::string any_key();
  bool clocks_stay() const;
  void jump_clock(Machine& machine);
  void let_days_pass();
  void purge(Site& site);
  void retire_one();

  Stage& stage_;
  const std::vector<std::unique_ptr<Machine>>& machines_;
  const std::vector<std::unique_ptr<Site>>& sites_;
  const std::vector<Database*>& databases_;
  const AddSite add_site_;
  std::vector<Copy> copies_;
  std::int64_t clones_ = 0;
};

}  // namespace seqd::sim

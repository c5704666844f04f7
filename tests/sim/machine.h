// Machine: one computer of the simulation: its disk, its boot and its clocks. It outlives the
// daemons that run on it; one thread.
#pragma once

#include <cstdint>

#include "daemon/base/time/clock.h"
#include "daemon/core/leasing/lease_store.h"
#include "tests/sim/stage.h"
#include "tests/unit/memory_disk.h"

namespace seqd::sim {

class Machine final : public Clock {
 public:
  static constexpr const char* witness_path = "run";

  Machine(Stage& stage, std::uint8_t number) : stage_(stage) {
    boot_id[0] = number;
    disk.set_kind(witness_path, FileSystemKind::memory);
  }

  // Each boot begins at 0, and the wall clock may be wrong.
  std::int64_t monotonic_ms() const override { return stage_.time.monotonic_ms() - booted_ms_; }
  std::int64_t wall_ms() const override { return stage_.wall_ms() + wall_error_ms_; }

  void set_clock(std::int64_t error_ms) {
    wall_error_ms_ = error_ms;
    clock_set_ms_ = stage_.time.monotonic_ms();
  }
  std::uint32_t boots() const { return boots_; }
  // When that was, on no clock of this machine.
  std::int64_t clock_set_ms() const { return clock_set_ms_; }

  bool has_unsynced_sectors(const std::string& path) {
    for (const auto& [name, inode] : disk.folder(path).names) {
      if (!inode->unsynced.empty()) return true;
    }
    return false;
  }
  // The power fails and comes back. Whoever runs here is gone already.
  void cut_power() {
    disk.faults = {};
    // Sometimes nothing reaches the medium, or all of it.
    const std::int64_t kept = stage_.random.below(5) * 25;
    disk.power_cut([&] { return stage_.random.below(100) < kept; });
    booted_ms_ = stage_.time.monotonic_ms();
    ++boots_;
    boot_id[1] = static_cast<std::uint8_t>(boots_ & 0xff);
    boot_id[2] = static_cast<std::uint8_t>(boots_ >> 8);
  }

  MemoryDisk disk;
  Token boot_id{};
  std::int64_t slow_until_ms = 0;  // flushes take seconds until then

 private:
  Stage& stage_;
  std::int64_t booted_ms_ = 0;
  std::int64_t wall_error_ms_ = 0;
  std::int64_t clock_set_ms_ = -1;
  std::uint32_t boots_ = 0;
};

}  // namespace seqd::sim

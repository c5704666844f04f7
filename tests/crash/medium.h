// Medium: what the power may leave of the files of one directory. It is told of every write and
// sync in their order, and knows of each 512-byte sector every content that may be on the medium
// now: the one that was last synced and all that were written since, in any mixture over the
// sectors, because a disk writes back when and in what order it likes. A sector that a failed sync
// has given up stays uncertain until it is written and synced again. The names of the directory are
// a sequence of versions, of which any since its last sync may be there. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace seqd {

class Medium {
 public:
  static constexpr std::size_t sector_size = 512;
  using Bytes = std::vector<std::uint8_t>;
  using Names = std::map<std::string, std::uint64_t>;  // of files, by their inode numbers

  // One state of the directory: the version of the names and of each uncertain sector.
  struct State {
    std::size_t names = 0;
    std::vector<std::size_t> sectors;
  };

  void created(const std::string& name, std::uint64_t inode);
  void renamed(const std::string& from, const std::string& to);
  void names_synced();
  // Room is on the medium when the call returns.
  void allocated(std::uint64_t inode, std::size_t size);
  void wrote(std::uint64_t inode, std::size_t offset, std::span<const std::uint8_t> bytes);
  // What is written between the two is not covered by the sync.
  void sync_begins(std::uint64_t inode);
  void sync_ended(std::uint64_t inode, bool good);
  // The power was cut and this is what is there.
  void settle(const State& state);

  // Calls `visit` with states that a power cut could leave now: all of them when they are at most
  // `all_below`; otherwise none and all of the new contents, each sector alone, all but one,
  // prefixes in the order of the sectors, and `random` mixtures by the seed.
  void enumerate(std::size_t all_below, std::size_t random, std::uint64_t seed,
                 const std::function<void(const State&)>& visit) const;

  // The files of a state, by name; and a number that tells states apart.
  std::map<std::string, Bytes> files(const State& state) const;
  std::uint64_t fingerprint(const State& state) const;

  // The state in which all that was written is there.
  State newest() const;
  // The state in which only what was synced is there.
  State oldest() const { return State{0, std::vector<std::size_t>(uncertain().size(), 0)}; }

 private:
  struct Content {
    std::array<std::uint8_t, sector_size> bytes{};
    std::uint64_t hash = 0;
  };
  struct Sector {
    std::vector<Content> versions = {Content{}};  // oldest first; never empty
    bool dirty = false;                           // the next sync writes the newest
    std::size_t covered = 0;                      // by the sync under way: the newest at its begin
  };
  struct File {
    std::vector<Sector> sectors;
    bool syncing = false;
  };

  std::vector<const Sector*> uncertain() const;
  std::vector<std::size_t> counts() const;

  std::map<std::uint64_t, File> files_;
  std::vector<Names> names_ = {Names{}};  // oldest first; never empty
};

}  // namespace seqd

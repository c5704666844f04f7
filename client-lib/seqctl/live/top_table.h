// TopTable: what is known of the sequences from the pages of `list` that were read, and at which
// rate each issues. Pure: time comes in as an argument, and the data of the daemon is not trusted.
// One thread.
//
// Invariant: at most kMostSequences rows of at most about 500 bytes, for any data of the daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace seqd::seqctl {

class TopTable {
 public:
  static constexpr std::size_t kMostSequences = 100'000;
  // A longer name is none of a sequence with its period; the row is left out.
  static constexpr std::size_t kLongestName = 256;

  struct Row {
    // As the daemon sent them: never to be printed without plain_cell().
    std::string name;
    std::string store;
    std::string state;
    std::int64_t available = 0;
    std::int64_t out = 0;  // in blocks
    std::int64_t waiting = 0;
    std::optional<std::int64_t> issued;
    std::optional<double> rate;  // IDs a second, from since_ms to seen_ms
    std::int64_t since_ms = 0;
    std::int64_t seen_ms = 0;
    std::uint64_t round = 0;

    // How long the available IDs last at this rate, in seconds; none where it issues nothing.
    std::optional<double> runway() const;
  };

  // A page of list, requested at that time.
  void add_page(const nlohmann::json& page, std::int64_t now_ms);
  // All pages were read: a sequence that was in none of them since the last end no longer exists.
  void end_round();

  std::size_t size() const { return rows_.size(); }
  // This round has as many as the table holds, and its further pages add nothing.
  bool is_full() const { return in_round_ >= kMostSequences; }
  // The last round was full: there may be more.
  bool is_partial() const { return partial_; }
  // Sequences that are stopped.
  std::size_t stopped() const;
  // The `most` with the highest rates, the highest first; then those for which most requests wait.
  // Valid until the table changes.
  std::vector<const Row*> busiest(std::size_t most) const;

 private:
  void add_row(const nlohmann::json& listed, std::int64_t now_ms);

  std::unordered_map<std::string, Row> rows_;
  std::uint64_t round_ = 1;
  std::size_t in_round_ = 0;
  bool partial_ = false;
};

// What a terminal may be sent, a column a byte: every byte but those of printable ASCII is a '?';
// cut to `most`, with a '~' as its end.
std::string plain_cell(const std::string& text, std::size_t most);

}  // namespace seqd::seqctl

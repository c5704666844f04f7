// TopScreen: draws the table of `seqctl top`. Remembers the last minute of the sequences that it
// showed. Pure: time comes in as an argument. One thread.
//
// Invariant: no byte of what the daemon sent reaches the text unless it is printable ASCII; at most
// kMostMinutes sequences are remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client-lib/seqctl/live/minute.h"
#include "client-lib/seqctl/live/terminal.h"
#include "client-lib/seqctl/live/top_table.h"

namespace seqd::seqctl {

class TopScreen {
 public:
  static constexpr std::size_t kMostRows = 1'000;
  static constexpr std::size_t kMostMinutes = 4'000;

  // What stands above the table.
  struct Heading {
    std::string trouble;  // why the daemon did not answer; empty: it did
    std::string version;  // of the daemon
    std::int64_t connections = 0;
    std::int64_t waiting = 0;
    std::optional<double> rate;  // IDs a second, of all sequences
  };

  // At most `rows` sequences. On a terminal every line fits its width, they are no more than fit
  // its height, and they overwrite those of the last call.
  std::string text(const TopTable& table, const Heading& heading, std::size_t rows,
                   const Terminal& terminal, std::int64_t now_ms);

  std::size_t remembered() const { return minutes_.size(); }  // sequences

 private:
  void remember(const std::vector<const TopTable::Row*>& shown, std::int64_t now_ms);
  std::string minute_of(const TopTable::Row& row, std::int64_t now_ms, bool utf8) const;

  std::unordered_map<std::string, Minute> minutes_;
};

// The same for programs: {"sequences", "stopped", "ids_per_second", "rows": [...]}.
nlohmann::json top_value(const TopTable& table, const TopScreen::Heading& heading,
                         std::size_t rows);

}  // namespace seqd::seqctl

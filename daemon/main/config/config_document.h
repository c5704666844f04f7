// What a TOML file says, as plain data: tables, keys, values and the lines they stand on. The only
// place that knows toml++ is config_document.cc. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

inline constexpr std::size_t kMaxConfigurationSize = 1 << 20;  // bytes
inline constexpr int kMaxConfigurationDepth = 8;               // parts of one dotted key

struct DocumentEntry;

struct DocumentTable {
  std::vector<DocumentEntry> entries;  // in the order of the lines
};

struct DocumentEntry {
  enum class Kind : std::uint8_t { integer, boolean, text, texts, table, other };
  std::string key;
  int line = 0;  // of the key; the first is 1
  Kind kind = Kind::other;
  std::int64_t integer = 0;
  bool boolean = false;
  std::string text;
  std::vector<std::string> texts;  // an array of nothing else
  DocumentTable table;
  std::string_view what;  // the kind in words, "a fraction"
};

// CONFIG with one line, "FILE:LINE: what is wrong", when it is not UTF-8, not TOML, longer than
// kMaxConfigurationSize or nested too deep. The error repeats keys and single characters, but no
// values: they may be secrets.
Result<DocumentTable> parse_document(std::string_view text, const std::string& file);

}  // namespace seqd

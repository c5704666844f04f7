// The options of the methods that answer in pages: a map of "after", behind which the page begins,
// and "limit", how many rows it has at most. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/values/value_reader.h"

namespace seqd {

// After: std::int64_t, a number from 0 on, or std::string_view, a text that lies in the request.
template <typename After>
struct PageOptions {
  After after{};  // 0 or empty: from the beginning
  std::int64_t limit = 0;
};

inline bool read_after(protocol::ValueReader& params, std::int64_t& after) {
  const std::optional<std::int64_t> value = params.read_integer();
  if (value) after = *value;
  return value && *value >= 0;
}

inline bool read_after(protocol::ValueReader& params, std::string_view& after) {
  const std::optional<std::string_view> value = params.read_text();
  if (value) after = *value;
  return value.has_value();
}

// Reads the map that comes next in `params` over `page`, which has what holds without an option.
// Nothing: it is no map, has another option, or one with a value that it does not take; a limit
// lies within 1..`most`.
template <typename After>
std::optional<PageOptions<After>> read_page_options(protocol::ValueReader& params,
                                                    PageOptions<After> page, std::int64_t most) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return std::nullopt;
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (key == "after") {
      if (!read_after(params, page.after)) return std::nullopt;
    } else if (key == "limit") {
      const std::optional<std::int64_t> limit = params.read_integer();
      if (!limit || *limit < 1 || *limit > most) return std::nullopt;
      page.limit = *limit;
    } else {
      return std::nullopt;
    }
  }
  return page;
}

}  // namespace seqd

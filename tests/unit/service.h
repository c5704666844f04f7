// Service: an RpcWorld that serves, and one client of it; requests as bytes, right or wrong; and
// what a result says, as texts. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/unit/rpc_world.h"

namespace seqd {

struct Service {
  explicit Service(const ServerLimits& limits = {});
  Reply ask(std::string_view bytes) { return world.ask(*line, bytes); }
  ErrorCode code(std::string_view bytes) { return ask(bytes).code; }
  RpcWorld world;
  Line* line = nullptr;
};

// [0, 1, method, [params...]], with `count` parameters as bytes.
std::string request(std::string_view method, std::uint32_t count, std::string_view params);
// The same, with a text before the parameters, which counts.
std::string request(std::string_view method, std::string_view name, std::uint32_t count = 1,
                    std::string_view params = "");

// Integers, texts and flags of a map by their keys, with those of the maps in it as "outer.inner";
// of an array only how long it is.
std::map<std::string, std::string> read_map(protocol::ValueReader& reader);
// The same of a whole result.
std::map<std::string, std::string> map_of(const Reply& reply);

}  // namespace seqd

// A command that waits in the server while the test does something else. A machine that is too slow
// for that in the time that fail points allow says nothing: the test begins again with more.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/adapters/in_time.h"
#include "tests/adapters/mongo/mongo_server.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

struct HeldCommand {
  std::string app_name;  // of the client whose command it is
  int block_ms = 0;
  const char* command = "findAndModify";
};

// Runs `call` on a thread of its own and, when its first such command waits in the server,
// `meanwhile`. False: the command may have gone on before `meanwhile` ended.
template <typename Call, typename Meanwhile>
bool while_held(MongoServer& server, const HeldCommand& held, Call call, Meanwhile meanwhile) {
  const FailPoint point(server, "failCommand", R"({"times": 1})",
                        fmt::format(R"({{"failCommands": ["{}"], "appName": "{}",
                                         "blockConnection": true, "blockTimeMS": {}}})",
                                    held.command, held.app_name, held.block_ms));
  const auto began = std::chrono::steady_clock::now();
  const std::jthread calling(call);
  server.admin(fmt::format(
      R"({{"waitForFailPoint": "failCommand", "timesEntered": {}, "maxTimeMS": 30000}})",
      point.entered_before() + 1));
  meanwhile();
  return std::chrono::steady_clock::now() - began < std::chrono::milliseconds(held.block_ms);
}

// `attempt(block_ms)` makes its world again and says whether there was time enough.
template <typename Attempt>
void until_in_time(Attempt attempt) {
  int block_ms = 500;
  while (!attempt(block_ms)) {
    block_ms *= 4;
    REQUIRE_IN_TIME(block_ms < kPatientMs);
  }
}

}  // namespace seqd::testing

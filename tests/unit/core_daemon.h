// CoreDaemon: a core that runs, with the sequences of these names. For the tests of the table. One
// thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "tests/unit/world.h"

namespace seqd {

struct CoreDaemon {
  explicit CoreDaemon(std::initializer_list<const char*> names = {"orders"}) {
    for (const char* name : names) world.settings.add(name);
    world.start();
    world.settle();
  }
  std::int64_t one(const std::string& name, const Caller& caller = {}) {
    if (const auto id = world.next(name, caller)) {
      world.turn();
      return *id;
    }
    world.settle();
    const Answer& answer = world.answers.sent.back();
    return answer.status.ok() ? answer.runs.front().first : -1;
  }
  void leave_clean() {
    world.table->begin_stop({ErrorCode::STOPPING, "stop"});
    world.settle();
    static_cast<void>(world.table->leave_clean());
    world.turn();
    world.flush();
    world.kill();
  }
  ErrorCode error_of(const std::string& name) {
    static_cast<void>(world.next(name));
    return world.status.code();
  }
  CoreWorld world;
};

}  // namespace seqd

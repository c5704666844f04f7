// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/*
// link: daemon/rpc daemon/rpc/*
// seeds: tests/fuzz/protocol_seeds.py
//
// What hostile clients may send to the daemon: bytes on several connections, in pieces, with turns,
// flushes, answers of the store, time and kills between them. Nothing may crash, the output of a
// client that does not read stays bounded, and the world checks after every turn that no ID is
// issued twice or lost.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/unit/rpc_world.h"

namespace {

using seqd::Line;
using seqd::RpcWorld;

void demand(bool condition) {
  if (!condition) std::abort();
}

// What happens between two pieces, chosen by one byte of the input.
void happen(RpcWorld& world, std::uint8_t choice) {
  switch (choice % 8) {
    case 0:
      return world.turn();
    case 1:
      return world.core.flush();
    case 2:
      static_cast<void>(world.core.store.deliver());
      static_cast<void>(world.history.deliver());
      return;
    case 3:
      world.core.time.advance(choice * 10);
      return world.turn();
    case 4:
      return world.settle();
    case 5:
      world.lines[choice / 8 % 2]->takes_replies = choice < 128;
      return;
    case 6:
      if (choice < 240) return;
      world.kill();
      world.lines.clear();
      world.start();
      world.connect();
      world.connect();
      return;
    default:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RpcWorld world;
  world.limits.methods.pipeline = 8;
  world.limits.output = 65'536;
  world.core.settings.add("a").lease_max = 50;
  world.core.settings.add("orders").blocks = true;
  world.core.log.any_order = true;  // what comes back from blocks lies below what was issued
  world.start();
  world.connect();
  world.connect();
  // Each piece: which connection, what follows it, how many bytes; then the bytes.
  while (bytes.size() >= 3) {
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    const auto choice = static_cast<std::uint8_t>(bytes[1]);
    const auto count = static_cast<std::uint8_t>(bytes[2]);
    bytes.remove_prefix(3);
    const std::string_view piece = bytes.substr(0, count);
    bytes.remove_prefix(piece.size());
    Line& line = *world.lines[first % 2];
    if (line.session != nullptr && line.unread.size() < 65'536) world.send(line, piece);
    happen(world, choice);
    for (const auto& one : world.lines) {
      demand(one->session == nullptr || one->session->out.size() < 200'000);
      static_cast<void>(one->replies());
    }
  }
  world.settle();
  return 0;
}

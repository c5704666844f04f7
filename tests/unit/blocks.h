// Blocks: a world with the sequence "orders" that has blocks, and a client that takes from them and
// notices an ID that is somebody else's. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "daemon/core/blocks/block_table.h"
#include "tests/unit/orders.h"

#include <catch2/catch.hpp>

namespace seqd {

struct Blocks : Orders {
  static constexpr UserId kUser = 1'000;

  explicit Blocks(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {})
      : Orders([&](SequenceSettings& settings) {
          settings.blocks = true;
          settings.lease_min = 100;
          change(settings);
        }) {
    world.log.any_order = true;  // what comes back from blocks lies below what was issued
    fill();
    client = attach(1);
  }
  ClientId attach(std::uint8_t who) {
    return world.table->replays().attach(Token{who}, kUser)->client;
  }
  Caller asking(std::uint32_t request) { return {5, request, client, kUser}; }
  BlockTable& blocks() { return world.table->blocks(); }
  std::optional<Run> grant(std::uint32_t request, std::uint32_t slot, std::int64_t count) {
    world.status = blocks().prepare_grant(client, kUser);
    if (!world.status.ok()) return std::nullopt;
    blocks().end_slot(client, slot);
    const Result<Run> run = sequence().grant_block(asking(request), slot, count);
    world.status = run.status();
    return run.ok() ? std::optional(*run) : std::nullopt;
  }
  // A block that its client knows of.
  Run out(std::uint32_t request, std::uint32_t slot, std::int64_t count) {
    const std::optional<Run> run = grant(request, slot, count);
    REQUIRE(run);
    world.turn();
    return *run;
  }
  // Every available ID is in a block; the first one, which is in slot 0.
  Run all_out() {
    std::optional<Run> first;
    for (std::uint32_t slot = 0; sequence().available() > 0; ++slot) {
      const Run run = out(slot + 1, slot, sequence().available());
      if (!first) first = run;
      world.settle();
    }
    return *first;
  }
  // The client takes; no ID may be anybody else's.
  void take(const Run& block, std::uint32_t slot, std::uint32_t request, std::int64_t count) {
    if (world.pages.pages.contains(client)) page = world.pages.pages.at(client);
    protocol::BlockSlot& from = page->at(slot);
    const auto had = static_cast<std::int64_t>(from.taken);
    const std::int64_t got = MemoryPages::take(from, request, count);
    for (std::int64_t at = had; at < had + got; ++at) use(block.first + at);
  }
  void use(std::int64_t id) { REQUIRE(used.insert(id).second); }
  // Everything that is available is issued, and is nobody else's.
  void use_the_rest() {
    while (sequence().available() > 0) {
      const auto id = world.next("orders");
      if (id) use(*id);
      world.turn();
      for (const Answer& answer : std::exchange(world.answers.sent, {})) {
        for (const Run& run : answer.runs) use(run.first);
      }
      world.flush();
      if (used.size() > 5'000) break;
    }
  }
  ClientId client = 0;
  std::shared_ptr<MemoryPages::Page> page;  // as the client has mapped it
  std::set<std::int64_t> used;
};

}  // namespace seqd

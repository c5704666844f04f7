// Unpaged: a daemon with a client that takes from blocks without a page, for tests of the methods
// `block` and `end_block`. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {

constexpr UserId kStranger = 1'001;

inline std::string call(std::uint32_t msgid, std::string_view method, std::string_view name,
                        std::optional<std::int64_t> second, std::int64_t third) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, msgid);
  protocol::append_text(out, method);
  protocol::append_array(out, 3);
  protocol::append_text(out, name);
  std::string bytes(out.data(), out.size());
  out.clear();
  if (second) {
    protocol::append_integer(out, *second);
    bytes.append(out.data(), out.size());
    out.clear();
  } else {
    bytes += '\xc0';
  }
  protocol::append_integer(out, third);
  return bytes.append(out.data(), out.size());
}

// A daemon with IDs of "orders" at hand, 1 of which was issued, and a client with an identity.
struct Unpaged : Service {
  Unpaged() {
    allow_blocks("orders");
    world.core.log.any_order = true;
    fill("orders");
    line = &hello(1);
  }
  void allow_blocks(const std::string& name) {
    SequenceSettings& settings = world.core.settings.by_name[name];
    settings.blocks = true;
    settings.lease_min = 100;
  }
  void fill(const std::string& name) {
    REQUIRE(world.ask(world.connect(), next_request(1, name)).id() == 1);
  }
  Line& hello(std::uint8_t who, UserId user = 1'000, std::int32_t pid = 1) {
    Line& from = world.connect(user, {}, pid);
    REQUIRE(world.ask(from, hello_request(0, who)).code == ErrorCode::OK);
    return from;
  }
  Reply block(std::uint32_t msgid, std::int64_t count, std::string_view name = "orders") {
    return ask(call(msgid, "block", name, {}, count));
  }
  Run granted(std::uint32_t msgid, std::int64_t count) {
    const Reply reply = block(msgid, count);
    REQUIRE(reply.code == ErrorCode::OK);
    protocol::ValueReader reader = reply.result();
    REQUIRE(reader.read_array() == 3U);
    const std::int64_t first = reader.read_integer().value();
    CHECK(reader.read_integer() == 1);
    const std::int64_t size = reader.read_integer().value();
    CHECK(reader.at_end());
    return {first, size, 1};
  }
  Reply end(std::int64_t block, std::int64_t taken, std::string_view name = "orders") {
    return ask(call(900, "end_block", name, block, taken));
  }
  // The client takes; no ID may be anybody else's.
  void use(const Run& block, std::int64_t from, std::int64_t to) {
    for (std::int64_t at = from; at < to; ++at) REQUIRE(used.insert(block.first + at).second);
  }
  // What is issued next is nobody else's; more than was ever out.
  void use_the_rest() {
    Line& other = world.connect();
    for (std::uint32_t at = 1; at <= 150; ++at)
      REQUIRE(used.insert(world.ask(other, next_request(at, "orders")).id()).second);
  }
  Sequence& orders() { return world.core.sequence("orders"); }
  BlockTable& table() { return world.core.table->blocks(); }
  std::int64_t gaps() { return orders().totals().gaps; }
  std::int64_t untold() { return world.core.events.count(EventKind::gap_block_untold); }
  void restart() {
    world.kill();
    world.start();
    world.settle();
  }
  void stop_and_start() {
    world.core.table->begin_stop({ErrorCode::STOPPING, "stop"});
    for (const auto& each : world.lines) world.hang_up(*each);
    world.settle();
    world.core.table->leave_clean();
    world.settle();
    restart();
  }
  std::set<std::int64_t> used;
};

}  // namespace seqd

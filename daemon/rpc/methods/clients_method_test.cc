// clients: whose connections a user sees, what each has, and pages that come to an end.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/requests.h"
#include "protocol/values/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr UserId kStranger = 1'001;

struct Answer {
  std::vector<Texts> clients;
  bool more = false;
  std::optional<std::int64_t> after;
};

Answer read_answer(const Reply& reply) {
  REQUIRE(reply.code == ErrorCode::OK);
  protocol::ValueReader reader = reply.result();
  REQUIRE(reader.read_map() == 3U);
  REQUIRE(reader.read_text() == "clients");
  Answer answer;
  for (std::uint32_t left = reader.read_array().value_or(0); left > 0; --left)
    answer.clients.push_back(read_map(reader));
  REQUIRE(reader.read_text() == "more");
  answer.more = reader.read_bool().value();
  REQUIRE(reader.read_text() == "after");
  answer.after = reader.read_integer();
  return answer;
}

std::string page(std::int64_t after, std::int64_t limit) {
  protocol::Buffer options;
  protocol::append_map(options, 2);
  protocol::append_text(options, "after");
  protocol::append_integer(options, after);
  protocol::append_text(options, "limit");
  protocol::append_integer(options, limit);
  return request("clients", 1, {options.data(), options.size()});
}

struct Clients : Service {
  Answer seen_by(Line& asking) {
    return read_answer(world.ask(asking, plain_request(9, "clients")));
  }
};

TEST_CASE("ClientsTellsWhatAConnectionIsAndTook", "[methods]") {
  Clients service;
  Line& shop = service.world.connect(kStranger);
  service.world.core.advance(3'000);
  protocol::Buffer hello;
  protocol::append_hello(hello, 1, {std::nullopt, "shop"});
  service.world.ask(shop, {hello.data(), hello.size()});
  service.world.ask(shop, next_request(2, "orders"));
  service.world.ask(shop, range_request(3, "orders", 5, 1'000));
  service.world.ask(shop, request("next_text", "orders"));
  // More than a lease: it waits, and gets its IDs later.
  service.world.ask(shop, range_request(4, "orders", 90));
  service.world.core.settings.add("few").max_value = 1;
  service.world.ask(shop, range_request(5, "few", 2));  // refused: it is no ID
  const Answer answer = service.seen_by(shop);
  REQUIRE(answer.clients.size() == 1);
  CHECK(answer.clients[0] == Texts{{"id", std::to_string(shop.session->id)},
                                   {"uid", "1001"},
                                   {"pid", "1"},
                                   {"name", "shop"},
                                   {"connected_ms", "3000"},
                                   {"requests", "7"},  // with this one
                                   {"waiting", "0"},
                                   {"ids", "97"}});
  CHECK_FALSE(answer.more);
  CHECK_FALSE(answer.after);
}

TEST_CASE("ClientsCountsWhatWaitsAndWhatARepeatGetsAgain", "[methods]") {
  Clients service;
  Line& line = service.world.connect(kStranger);
  service.world.ask(line, hello_request(0, 7));
  service.world.ask(line, next_request(1, "orders"));
  service.world.ask(line, next_request(1, "orders"));  // the same ID again
  CHECK(service.seen_by(line).clients.at(0).at("ids") == "2");
  CHECK(service.seen_by(line).clients.at(0).at("name") == "nil");
  Line& waits = service.world.connect(kStranger);
  service.world.send(waits, range_request(1, "orders", 5'000, 60'000));
  service.world.send(line, plain_request(9, "clients"));
  service.world.turn();
  CHECK(read_answer(line.replies().at(0)).clients.at(1).at("waiting") == "1");
}

TEST_CASE("ClientsOfOtherUsersAreSeenByAdministratorsOnly", "[methods]") {
  Clients service;  // with one connection of user 1000, an administrator
  Line& stranger = service.world.connect(kStranger);
  service.world.connect(kStranger);
  Line& root = service.world.connect(0);
  CHECK(service.seen_by(stranger).clients.size() == 2);
  CHECK(service.seen_by(root).clients.size() == 4);
  CHECK(service.seen_by(*service.line).clients.size() == 4);
  CHECK(service.seen_by(service.world.connect(ScriptedControl::kUser)).clients.size() == 5);
  service.world.control.listed = {};
  CHECK(service.seen_by(*service.line).clients.size() == 1);
}

// Users that are not mapped have one number for all.
TEST_CASE("ClientsOfUsersThatAreNotMappedAreSeenByAdministratorsOnly", "[methods]") {
  Clients service;
  Line& nobody = service.world.connect(kNoUserOrGroup);
  service.world.connect(kNoUserOrGroup);
  CHECK(service.seen_by(nobody).clients.empty());
  const Answer all = service.seen_by(*service.line);
  REQUIRE(all.clients.size() == 3);
  CHECK(all.clients[1].at("uid") == "nil");
}

TEST_CASE("ClientsComesInPagesThatContinueAfterConnectionsOfOthers", "[methods]") {
  Clients service;
  Line& asking = service.world.connect(kStranger);
  for (int at = 0; at < 5; ++at) service.world.connect(2'000);
  Line& last = service.world.connect(kStranger);
  std::vector<std::string> ids;
  std::int64_t after = 0;
  std::size_t pages = 0;
  for (bool more = true; more; ++pages) {
    REQUIRE(pages < 10);
    const Answer answer = read_answer(service.world.ask(asking, page(after, 2)));
    for (const Texts& one : answer.clients) ids.push_back(one.at("id"));
    more = answer.more;
    REQUIRE(more == answer.after.has_value());
    if (more) REQUIRE(*answer.after > after);
    after = answer.after.value_or(0);
  }
  CHECK(pages == 5);  // 8 connections; of a full page it is not known that it was the last
  CHECK(ids == std::vector<std::string>{std::to_string(asking.session->id),
                                        std::to_string(last.session->id)});
  // The connection that a page ended with may be gone when the next one is asked for.
  const auto gone = static_cast<std::int64_t>(last.session->id) - 1;
  service.world.hang_up(*service.world.lines.at(6));
  CHECK(read_answer(service.world.ask(asking, page(gone, 2))).clients.size() == 1);
  CHECK(read_answer(service.world.ask(asking, page(INT64_MAX, 2))).clients.empty());
}

TEST_CASE("ClientsWithWrongParametersIsABadRequest", "[methods]") {
  Clients service;
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1'001}, std::int64_t{-1}})
    CHECK(service.code(page(0, limit)) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(page(-1, 1)) == ErrorCode::BAD_REQUEST);
  for (const char* wrong : {"\x81\xa5"
                            "after\xa1x",
                            "\x81\xa5"
                            "other\x01",
                            "\x01"})
    CHECK(service.code(request("clients", 1, wrong)) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("clients", 2, "\x80\x80")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("clients", 1, "\x80")) == ErrorCode::OK);
}

}  // namespace
}  // namespace seqd

// The sources over real HTTP: servers that are slow, endless, elsewhere or none.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "daemon/store/dynamo/credentials/aws_chain.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/http/http_client.h"
#include "tests/adapters/canned_server.h"
#include "tests/adapters/dynamo/aws_world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::AwsWorld;
using testing::CannedServer;
using Then = CannedServer::Then;

std::string reply(const std::string& status, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

// The chain, with a real client for HTTP and the scripted rest.
AwsAnswer ask(AwsWorld& world) {
  EventLoop loop;
  UvHttpClient http(loop, 2);
  const AwsParts scripted = world.parts();
  const AwsParts parts{http, scripted.files, scripted.environment};
  const auto chain = default_aws_chain(parts, "", "eu-central-1");
  std::optional<AwsAnswer> answer;
  chain->ask([&](AwsAnswer given) {
    answer = std::move(given);
    loop.stop();
  });
  // The scripted parts answer by their own time, which passes before any real one has to.
  while (world.time.run_next()) {
  }
  if (!answer) loop.run();
  return answer.value();
}

TEST_CASE("AwsServers: an instance gives a token, a role and its credentials", "[aws]") {
  CannedServer server({reply("200 OK", "v2-token"), reply("200 OK", "ids"),
                       reply("200 OK", testing::metadata_document("ASIAIMDS"))});
  AwsWorld world;
  world.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  const AwsAnswer answer = ask(world);
  INFO(answer.why);
  REQUIRE(answer.kind == AwsAnswer::Kind::found);
  REQUIRE(answer.grant.credentials.access_key_id == "ASIAIMDS");
  const auto requests = server.requests();
  REQUIRE(requests.at(0).starts_with("PUT /latest/api/token HTTP/1.1\r\n"));
  REQUIRE(requests.at(2).starts_with("GET /latest/meta-data/iam/security-credentials/ids HTTP"));
  for (std::size_t at = 1; at < 3; ++at)
    REQUIRE(requests[at].find("\r\nX-aws-ec2-metadata-token: v2-token\r\n") != std::string::npos);
}

TEST_CASE("AwsServers: whatever a server does, the search ends and says so", "[aws]") {
  CannedServer other({reply("200 OK", testing::metadata_document("ASIAELSEWHERE"))});
  struct Row {
    std::string reply;
    Then then;
    std::string word;
  };
  const std::vector<Row> rows = {
      {"", Then::close, "container, by http://127.0.0.1"},
      {"garbage\r\n\r\n", Then::close, "container, by"},
      {"", Then::wait, "imed out"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", Then::close, "container, by"},
      {reply("200 OK", "\xff<html>hunter2"), Then::serve, "not a JSON object"},
      {reply("200 OK", std::string(1'000'000, 'x')), Then::serve, "longer than 65536 bytes"},
      {reply("200 OK", std::string(5'000'000, 'x')), Then::serve, "longer than"},
      {reply("500 Bad", "hunter2"), Then::serve, "status 500"},
      {reply("403 No", R"({"code": "Denied", "message": "go"})"), Then::serve, "Denied: go"},
      {"HTTP/1.1 307 Elsewhere\r\nLocation: " + other.url() + "\r\nContent-Length: 0\r\n\r\n",
       Then::serve, "status 307"},
  };
  for (const Row& row : rows) {
    CannedServer server({row.reply}, row.then);
    AwsWorld world;
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "hunter2";
    const AwsAnswer answer = ask(world);
    INFO(answer.why);
    REQUIRE(answer.kind == AwsAnswer::Kind::failed);
    REQUIRE(answer.why.find(row.word) != std::string::npos);
    REQUIRE(answer.why.find("hunter2") == std::string::npos);
  }
  REQUIRE(other.requests().empty());
}

}  // namespace
}  // namespace seqd

#include "client-lib/seqctl/reports/clients_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

std::string text(const json& clients) {
  return clients_text(clients, [](std::uint32_t uid) { return uid == 33 ? "www\x1b" : "root"; });
}

}  // namespace

TEST_CASE("ClientsAreATable", "[client]") {
  const json clients = {{{"id", 4},
                         {"uid", 33},
                         {"pid", 812},
                         {"name", "shop"},
                         {"connected_ms", 183'950},
                         {"requests", 1'200},
                         {"waiting", 3},
                         {"ids", 98'000}},
                        {{"uid", 0}, {"pid", 1}, {"name", nullptr}, {"connected_ms", 20}}};
  CHECK(text(clients) ==
        "USER  PID  NAME  CONNECTED  REQUESTS  WAITING  IDS\n"
        "www?  812  shop  3 min 3 s  1200      3        98000\n"
        "root  1    -     0 s        -         -        -\n");
}

TEST_CASE("AUserIsLookedUpOnce", "[client]") {
  int asked = 0;
  json clients = json::array();
  for (int i = 0; i < 5; ++i) clients.push_back({{"uid", i % 2}});
  clients_text(clients, [&asked](std::uint32_t) {
    ++asked;
    return std::string("somebody");
  });
  CHECK(asked == 2);
}

TEST_CASE("ClientsThatAreNoneAreNotBelieved", "[client]") {
  const std::string header = "USER  PID  NAME  CONNECTED  REQUESTS  WAITING  IDS\n";
  CHECK(text(json::array()) == header);
  CHECK(text({{"clients", 1}}) == header);
  CHECK(text(json()) == header);
  const json odd = {7,
                    {{"uid", -1}, {"name", "a\x1b[2J"}, {"connected_ms", "long"}},
                    {{"uid", 4'294'967'296}},
                    {{"uid", 1.5}, {"connected_ms", -5}}};
  const std::string rows = text(odd);
  CHECK_THAT(rows,
             Catch::Contains("a?[2J") && !Catch::Contains("root") && !Catch::Contains("\x1b"));
}

}  // namespace seqd::seqctl

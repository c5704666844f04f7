#include "client-lib/seqctl/reports/config_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {

using nlohmann::json;

TEST_CASE("AConfigurationIsAFileWithRemarks", "[client]") {
  const auto option = [](const char* key, const char* value, const char* from, const json& line,
                         bool waits) {
    return json{{"key", key}, {"value", value}, {"from", from}, {"line", line}, {"waits", waits}};
  };
  const json config = {{"file", "/etc/seqd/seqd.toml"},
                       {"tables",
                        {{{"table", "daemon"},
                          {"options",
                           {option("socket", "\"/run/seqd.sock\"", "default", nullptr, false),
                            option("state_dir", "\"/data\"", "command line", nullptr, false),
                            option("history", "true", "file", nullptr, true)}}},
                         {{"table", "store.main"},
                          {"options", {option("region", "\"eu\"", "environment", nullptr, false)}}},
                         {{"table", "sequence.\"orders\""},
                          {"options",
                           {option("max_value", "900", "file", 12, false),
                            option("lease_min", "20", "sequence_defaults", nullptr, false),
                            option("collection", "\"counters\"", "earlier", nullptr, true)}}}}}};
  const std::string pad = "                                            ";
  const auto line = [&pad](const std::string& text, const std::string& remark) {
    return text + pad.substr(text.size()) + "  # " + remark + "\n";
  };
  CHECK(config_text(config) ==
        "# /etc/seqd/seqd.toml\n\n[daemon]\n" + line("socket = \"/run/seqd.sock\"", "default") +
            line("state_dir = \"/data\"", "command line") +
            line("history = true", "an earlier configuration; the file waits for a restart") +
            "\n[store.main]\n" + line("region = \"eu\"", "environment or AWS profile") +
            "\n[sequence.\"orders\"]\n" + line("max_value = 900", "line 12") +
            line("lease_min = 20", "[sequence_defaults]") +
            line("collection = \"counters\"",
                 "an earlier configuration; the file waits for a restart"));
}

TEST_CASE("AConfigurationThatIsNoneIsNotBelieved", "[client]") {
  CHECK(config_text(json()) == "# no file was read\n");
  CHECK(config_text({{"tables", 7}}) == "# no file was read\n");
  const std::string odd = config_text(
      {{"file", "a\x1b[2J\nb"}, {"tables", {7, {{"table", "x\n[y]"}, {"options", {1}}}}}});
  CHECK_THAT(odd, !Catch::Contains("\x1b") && Catch::StartsWith("# a?[2J?b\n"));
  CHECK_THAT(odd, Catch::Contains("[x?[y]]\n- = -"));
}

}  // namespace seqd::seqctl

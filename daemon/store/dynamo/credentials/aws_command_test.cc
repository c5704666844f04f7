#include "daemon/store/dynamo/credentials/aws_command.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("AwsCommand: a command line is divided as Amazon documents it", "[aws]") {
  const std::vector<std::pair<const char*, Words>> rows = {
      {"/opt/bin/awscreds --username helen", {"/opt/bin/awscreds", "--username", "helen"}},
      {R"("/path to/credentials.sh" one "parameter with spaces")",
       {"/path to/credentials.sh", "one", "parameter with spaces"}},
      {"  /bin/x \t 'a \"b' ", {"/bin/x", "a \"b"}},
      {R"(/bin/x "a \"b\" \c" d\ e \\)", {"/bin/x", R"(a "b" \c)", "d e", "\\"}},
      {R"(/bin/x --a="b c"d '')", {"/bin/x", "--a=b cd", ""}},
      // No shell: nothing of this has a meaning.
      {"/bin/x $HOME ~ * ; rm | y > z `id` $(id) && #",
       {"/bin/x", "$HOME", "~", "*", ";", "rm", "|", "y", ">", "z", "`id`", "$(id)", "&&", "#"}},
  };
  for (const auto& [command, words] : rows) {
    INFO(command);
    const auto found = split_aws_command(command);
    REQUIRE(found.ok());
    REQUIRE(*found == words);
  }
}

TEST_CASE("AwsCommand: what is no command is refused", "[aws]") {
  for (const std::string& bad :
       {std::string(""), std::string("  "), std::string("\"\" x"), std::string("/bin/x \"a"),
        std::string("/bin/x 'a"), std::string("/bin/x \\"), std::string("/bin/x \n y"),
        std::string("/bin/x\0y", 8), std::string("/bin/x \x7f")}) {
    INFO(bad);
    const auto found = split_aws_command(bad);
    REQUIRE_FALSE(found.ok());
    REQUIRE(found.status().text().starts_with("credential_process "));
  }
  std::string much = "/bin/x";
  for (int word = 0; word < 300; ++word) much += " a";
  REQUIRE_FALSE(split_aws_command(much).ok());
}

}  // namespace
}  // namespace seqd

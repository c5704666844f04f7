#include "daemon/main/daemon_limits.h"

#include "tests/unit/configurations.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

bool has_pages(const std::string& text) {
  return server_limits(configuration_of(text)).methods.blocks;
}

TEST_CASE("ThereArePagesWhereSomeSequenceMayHaveBlocks") {
  CHECK_FALSE(has_pages(""));
  CHECK_FALSE(has_pages("[sequence.orders]\n"));
  CHECK(has_pages("[sequence.orders]\nblocks = true\n"));
  CHECK(has_pages("[sequence_defaults]\nblocks = true\n"));
  const std::string listed = "[daemon]\nallow_unlisted = false\n";
  CHECK_FALSE(has_pages(listed + "[sequence_defaults]\nblocks = true\n"));
  CHECK(has_pages(listed + "[sequence_defaults]\nblocks = true\n[sequence.\"t-*\"]\n"));
}

}  // namespace
}  // namespace seqd

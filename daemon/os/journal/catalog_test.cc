#include "daemon/os/journal/catalog.h"

#include "daemon/base/events.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <set>

namespace seqd {
namespace {

TEST_CASE("EveryEventHasAnEntryOfItsOwnInTheCatalogue") {
  const std::string catalog = journal_catalog();
  std::set<std::string_view> ids;
#define X(name, message_id, priority, meaning)                                      \
  CHECK(std::string_view(message_id).size() == 32);                                 \
  CHECK(ids.insert(message_id).second);                                             \
  CHECK(catalog.find("\n-- " message_id "\nSubject: seqd: ") != std::string::npos); \
  CHECK(catalog.find("\nDocumentation: man:seqd(8)\n\n" meaning "\n") != std::string::npos);
#include "daemon/base/events.def"
#undef X
}

}  // namespace
}  // namespace seqd

#include "daemon/rpc/page_options.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace std::string_literals;

using Numbered = PageOptions<std::int64_t>;
using Named = PageOptions<std::string_view>;

protocol::ValueReader reading(const std::string& bytes) {
  return protocol::ValueReader({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

TEST_CASE("PageOptionsAreReadInAnyOrderAndEachMayBeMissing") {
  const std::string both =
      "\x82\xa5limit\x07\xa5"
      "after\x05";
  protocol::ValueReader params = reading(both);
  const auto page = read_page_options(params, Numbered{.limit = 8}, 10);
  REQUIRE(page);
  CHECK((page->after == 5 && page->limit == 7));
  CHECK(params.at_end());
  const std::string none = "\x80";
  params = reading(none);
  const auto all = read_page_options(params, Numbered{.limit = 8}, 10);
  REQUIRE(all);
  CHECK((all->after == 0 && all->limit == 8));
  const std::string text =
      "\x81\xa5"
      "after\xa1"
      "b";
  params = reading(text);
  const auto named = read_page_options(params, Named{.limit = 8}, 10);
  REQUIRE(named);
  CHECK((named->after == "b" && named->limit == 8));
}

TEST_CASE("PageOptionsThatAreNoneAreRefused") {
  const std::string wrong = GENERATE("\x05"s,               // no map
                                     "\x81\xa5other\x01"s,  // another option
                                     "\x81\x01\x01"s,       // a key that is no text
                                     "\x81\xa5"
                                     "after\xff"s,  // no number from 0 on
                                     "\x81\xa5"
                                     "after\xa1z"s,  // a text
                                     "\x81\xa5"
                                     "after"s,                // cut off
                                     "\x81\xa5limit\x00"s,    // below 1
                                     "\x81\xa5limit\x0b"s,    // above what there may be
                                     "\x81\xa5limit\xa1z"s);  // a text
  protocol::ValueReader params = reading(wrong);
  CHECK_FALSE(read_page_options(params, Numbered{.limit = 8}, 10));
}

TEST_CASE("PagesByNameBeginBehindATextOnly") {
  const std::string number =
      "\x81\xa5"
      "after\x01";
  protocol::ValueReader params = reading(number);
  CHECK_FALSE(read_page_options(params, Named{.limit = 8}, 10));
}

}  // namespace
}  // namespace seqd

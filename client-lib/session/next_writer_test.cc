#include "client-lib/session/next_writer.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace seqd::engine {

TEST_CASE("NextWriterWritesWhatAppendNextWrites", "[client]") {
  const std::string names[] = {"a", "orders", "order", std::string(128, 'x')};
  const std::optional<std::int64_t> waits[] = {std::nullopt, 0, 4'500, 3'600'000};
  NextWriter writer;
  protocol::Buffer written;
  protocol::Buffer expected;
  for (std::uint32_t number :
       {1U, 127U, 128U, 255U, 256U, 65'535U, 65'536U, std::numeric_limits<std::uint32_t>::max()}) {
    for (const auto& wait : waits) {
      for (const std::string& name : names) {
        // The second time it is kept.
        for (int times = 0; times < 2; ++times) {
          writer.set(name, wait);
          writer.write(written, number, 1);
          protocol::append_next(expected, number, name, wait);
        }
      }
    }
  }
  CHECK(written.text() == expected.text());
}

TEST_CASE("NextWriterWritesRequestsThatFollowEachOther", "[client]") {
  NextWriter writer;
  protocol::Buffer written;
  protocol::Buffer expected;
  for (const std::string& name : {std::string("a"), std::string("orders"), std::string(128, 'x')}) {
    writer.set(name, 4'500);
    for (const std::uint32_t number : {120U, 250U, 65'530U, 4'294'967'200U}) {
      writer.write(written, number, 16);
      for (std::uint32_t each = 0; each < 16; ++each)
        protocol::append_next(expected, number + each, name, 4'500);
    }
  }
  CHECK(written.text() == expected.text());
}

}  // namespace seqd::engine

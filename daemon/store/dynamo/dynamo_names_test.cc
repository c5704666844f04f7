#include "daemon/store/dynamo/dynamo_names.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("DynamoNames: attributes and keys are text that JSON can hold", "[dynamo]") {
  const std::string odd = "a\"b\\c\n\x01\xc3\xa9";
  REQUIRE(check_attribute_name("attribute", odd).ok());
  for (const char* const bad : {"", "\xff", "\xed\xa0\x80", "seqd_floor:n"})
    REQUIRE(check_attribute_name("attribute", bad).code() == ErrorCode::CONFIG);
  CounterBinding binding;
  binding.collection = "counters";
  binding.key_field = "_id";
  binding.counter_field = "n";
  binding.key = odd;
  REQUIRE(check_dynamo_binding(binding).ok());
  binding.key = "\xff";
  REQUIRE(check_dynamo_binding(binding).code() == ErrorCode::CONFIG);
  binding.key = "seqd-register:x";
  REQUIRE(check_dynamo_binding(binding).code() == ErrorCode::CONFIG);
  binding.key = "orders";
  binding.key_field = binding.counter_field;
  REQUIRE(check_dynamo_binding(binding).code() == ErrorCode::CONFIG);
}

}  // namespace
}  // namespace seqd

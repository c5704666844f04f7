// Documents only; the clients are for the text of an error.
#include "daemon/store/mongo/documents/mongo_record_format.h"

#include <memory>
#include <string>
#include <utility>

#include "tests/adapters/mongo/mongo_server.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using State = LeaseRecord::State;
using testing::lease_request;

std::unique_ptr<MongoClients> clients() {
  const testing::MongoServer server(testing::kMongoAlone);
  auto target = read_mongo_uri(server.options());
  REQUIRE(target.ok());
  auto opened = MongoClients::open(testing::mongo_driver(), std::move(*target));
  REQUIRE(opened.ok());
  return std::move(*opened);
}

// The document that an update leaves in the ledger.
Document left_by(const LeaseRequest& request, const Document& update) {
  bson_iter_t found;
  REQUIRE(find_field(update.get(), "$set", &found));
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_document(&found, &size, &data);
  bson_t fields;
  REQUIRE(bson_init_static(&fields, data, size));
  Document document(&fields);
  document.add("_id", slot_of(request));
  return document;
}

LeaseRecord record_of(const LeaseRequest& request, State state) {
  LeaseRecord record{.token = request.token, .state = state};
  if (record.granted()) record.span = {5, 15};
  if (state == State::sent) record.sent = {.count = 10, .meaning = Meaning::next, .statement = 2};
  return record;
}

TEST_CASE("MongoRecordFormat: a record of the ledger is read as it was written", "[mongo]") {
  const auto state =
      GENERATE(State::voided, State::sent, State::granted, State::parked, State::forgotten);
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  const LeaseRecord record = record_of(request, state);
  const Document document = left_by(request, record_update(request, record));
  const auto read = record_in(document, request, *clients());
  REQUIRE(read.ok());
  CHECK(*read == record);
  CHECK(is_void_in_ledger(document, request) == (state == State::voided));
}

TEST_CASE("MongoRecordFormat: a record of a slot is read as it was written", "[mongo]") {
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::slot);
  const auto number = [](std::int64_t value) {
    return std::move(Document().add("$literal", value));
  };
  // Of a server, which calculates the two numbers.
  Document slot;
  slot.add_binary("token", request.token).add("state", "granted");
  slot.add("begin", std::int64_t{5}).add("end", std::int64_t{15});
  const Document written = granted_record(request.token, number(5), number(15));
  bson_iter_t found;
  for (const char* field : {"token", "state", "begin.$literal", "end.$literal", "at"})
    CHECK(find_field(written.get(), field, &found));
  const Document counter = std::move(
      Document().add("seqd", Document().add("slots", Document().add(slot_of(request), slot))));
  const auto read = record_in(counter, request, *clients());
  REQUIRE(read.ok());
  CHECK(*read == record_of(request, State::granted));
}

TEST_CASE("MongoRecordFormat: without a token there is no record", "[mongo]") {
  const auto trace = GENERATE(LeaseTrace::slot, LeaseTrace::session);
  const auto read = record_in(Document().add("seq", std::int64_t{1}),
                              lease_request("orders", 10, trace), *clients());
  REQUIRE(read.ok());
  CHECK_FALSE(read->has_value());
}

TEST_CASE("MongoRecordFormat: a record that seqd did not write is refused", "[mongo]") {
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  Document document;
  SECTION("its token is no token") {
    document.add("token", "orders").add("state", "void");
  }
  SECTION("it is granted, and has no range") {
    document.add_binary("token", request.token).add("state", "granted");
  }
  SECTION("it is sent, and has no count") {
    document.add_binary("token", request.token).add("state", "sent");
  }
  CHECK(record_in(document, request, *clients()).status().code() == ErrorCode::STORE_REFUSED);
}

TEST_CASE("MongoRecordFormat: a counter is never taken for a void record", "[mongo]") {
  const LeaseRequest request = lease_request("orders", 10, LeaseTrace::session);
  const Document counter =
      std::move(Document().add("_id", "orders").add("seq", std::int64_t{10}).add("state", "void"));
  CHECK_FALSE(is_void_in_ledger(counter, request));
}

}  // namespace
}  // namespace seqd

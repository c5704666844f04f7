#include <string>

#include "protocol/value_writer.h"
#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

std::string advance_store(std::string_view store) {
  return request("advance_store", store);
}

std::string resume(std::string_view store) {
  return request("advance_store", store, 2, "\xc3");
}

// A service whose store was put back from an older copy.
struct PutBack : Service {
  PutBack() {
    CHECK(ask(request("next", "orders")).id() == 1);
    core().settle();
    core().table->beat_stores();
    core().settle();
    core().store.next_id["orders"] = 1;
    core().store.heartbeats.clear();
    core().table->beat_stores();
    core().settle();
    CHECK(code(request("next", "orders")) == ErrorCode::SEQ_REGRESSED);
  }
  CoreWorld& core() { return world.core; }
};

TEST_CASE("AdvanceStoreRaisesEveryCounterAndOnResumeTheSequencesGoOn", "[rpc]") {
  PutBack service;
  const std::int64_t guard = service.core().sequence("orders").guard();
  CHECK(service.code(advance_store("default")) == ErrorCode::OK);
  CHECK(service.core().store.next_id.at("orders") == guard);
  CHECK(service.core().store.floors.at("orders") == guard);
  CHECK(service.code(request("next", "orders")) == ErrorCode::SEQ_REGRESSED);
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  service.core().settle();
  CHECK(service.ask(request("next", "orders")).id() == guard);
  // Nothing is stopped any more: it may be repeated.
  CHECK(service.code(resume("default")) == ErrorCode::OK);
}

TEST_CASE("AdvanceStoreThatFailsLetsNothingGoOn", "[rpc]") {
  PutBack service;
  service.core().store.advances = {{ScriptedStore::AdvanceScript::Kind::failed}};
  CHECK(service.code(resume("default")) == ErrorCode::OK);
  CHECK(service.core().table->scope_of_store("default")->restored());
}

TEST_CASE("AdvanceStoreOfNoStoreIsABadRequest", "[rpc]") {
  Service service;
  CHECK(service.code(advance_store("nowhere")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("advance_store", "default", 2, "\x05")) == ErrorCode::BAD_REQUEST);
  CHECK(service.code(request("advance_store", 0, "")) == ErrorCode::BAD_REQUEST);
}

}  // namespace
}  // namespace seqd

#include "daemon/core/names/known_registers.h"

#include "tests/unit/memory_log.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

const KnownRegisters::Key kInvoices{1, "invoices"};

std::vector<RegisterReached> written(const KnownRegisters& known) {
  std::vector<RegisterReached> out;
  known.snapshot(
      [&out](const LogEntry& entry) { out.push_back(std::get<RegisterReached>(entry)); });
  return out;
}

TEST_CASE("AHigherNumberIsRecordedAndALowerOneChangesNothing", "[register]") {
  MemoryLog log;
  KnownRegisters known(log);
  for (const ScopeId scope : {1U, 2U}) {
    DefineScope defined;
    defined.scope = scope;
    log.append(defined);
  }
  CHECK((known.reached(kInvoices, "2026") == 0 && !known.contains(kInvoices)));
  known.note(kInvoices, "2026", 7);
  known.note(kInvoices, "2026", 6);
  known.note(kInvoices, "2026", 7);
  known.note({2, "invoices"}, "2026", 3);
  known.note(kInvoices, "", 1);
  CHECK((known.reached(kInvoices, "2026") == 7 && known.reached(kInvoices, "") == 1));
  CHECK((known.reached({2, "invoices"}, "2026") == 3 && known.size() == 2));
  REQUIRE(known.of(1).size() == 1);
  CHECK(*known.of(1).front() == RegisterReached{1, "invoices", {{"2026", 7}, {"", 1}}});
  CHECK(known.of(3).empty());
  REQUIRE(log.commit().ok());
  CHECK(log.history.size() == 2 + 3);
  CHECK(log.image.registers.at(kInvoices) == *known.of(1).front());
}

TEST_CASE("ThePeriodThatDidNotChangeForLongestIsForgotten", "[register]") {
  MemoryLog log;
  KnownRegisters known(log);
  for (const char* period : {"2023", "2024", "2025", "2026"}) known.note(kInvoices, period, 5);
  known.note(kInvoices, "2023", 6);  // a late one
  known.note(kInvoices, "2027", 1);
  CHECK(known.reached(kInvoices, "2024") == 0);
  for (const char* period : {"2023", "2025", "2026", "2027"})
    CHECK(known.reached(kInvoices, period) > 0);
  KnownRegisters again(log);
  again.restore({{kInvoices, written(known).front()}});
  CHECK(written(again) == written(known));
}

}  // namespace
}  // namespace seqd

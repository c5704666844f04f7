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
  CHECK(*known.of(1).front() == RegisterReached{1, "invoices", {{"", 1}, {"2026", 7}}});
  CHECK(known.of(3).empty());
  REQUIRE(log.commit().ok());
  CHECK(log.history.size() == 2 + 3);
  CHECK(log.image.registers.at(kInvoices) == *known.of(1).front());
}

TEST_CASE("TheEarliestPeriodIsForgottenAndALateNumberForgetsNone", "[register]") {
  MemoryLog log;
  KnownRegisters known(log);
  for (int year = 2010; year < 2018; ++year) known.note(kInvoices, std::to_string(year), 5);
  known.note(kInvoices, "2009", 6);
  CHECK(known.reached(kInvoices, "2009") == 0);
  known.note(kInvoices, "2010", 6);
  known.note(kInvoices, "2018", 1);
  CHECK((known.reached(kInvoices, "2010") == 0 && known.reached(kInvoices, "2011") == 5));
  CHECK(known.reached(kInvoices, "2018") == 1);
  known.set(kInvoices, "2011", 0);
  CHECK(known.reached(kInvoices, "2011") == 0);
  KnownRegisters again(log);
  again.restore({{kInvoices, written(known).front()}});
  CHECK(written(again) == written(known));
}

}  // namespace
}  // namespace seqd

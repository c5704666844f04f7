// What a core has to keep is counted in bytes, so that a rotation of the log has room for all of
// it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/log/state_bounds.h"
#include "daemon/core/table/state_room.h"
#include "daemon/core/text/id_format.h"
#include "daemon/state/log_format.h"
#include "tests/unit/running.h"

namespace seqd {
namespace {

// The snapshot of today fits the smaller log, that of a day on which every sequence has two ranges
// and a lease under way does not: the daemon would end at a rotation.
TEST_CASE("ALogThatWasMadeSmallerIsRefusedWhereARotationCouldFail", "[accepted]") {
  const std::uint64_t large = 4 * StateLog::smallest_size;
  Running running(1, large);
  for (int at = 0;; ++at) {
    const std::string name = "a-name-of-some-length-" + std::to_string(at);
    running.settings.add(name);
    const Result<SequenceId> opened = running.table->open(name);
    if (opened.status().code() == ErrorCode::BUSY) break;
    REQUIRE(opened.ok());
    if (at % 100 == 0) running.settle();
  }
  running.settle();
  CHECK(check_state_room(running.table->budgets(), large).ok());
  running.stop();
  running.resize(StateLog::smallest_size);
  running.start();
  const Status refused = check_state_room(running.table->budgets(), StateLog::smallest_size);
  REQUIRE(refused.code() == ErrorCode::CONFIG);
  CAPTURE(refused.text());
  const std::size_t at = refused.text().find("set state_log_size to ");
  REQUIRE(at != std::string::npos);
  const std::uint64_t enough = std::stoull(refused.text().substr(at + 22)) * 1'024;
  CHECK(enough > StateLog::smallest_size);
  CHECK(enough <= large + 64 * 1'024);
  running.stop();
  running.resize(enough);
  running.start();
  CHECK(check_state_room(running.table->budgets(), enough).ok());
  // And it holds, whatever comes.
  for (const Sequence* sequence : running.table->sequences().all())
    REQUIRE(running.table->at(sequence->id()).wait({1, 1, 0, 1}, IssueKind::single, 1, -1).ok());
  running.settle();
  CHECK(running.table->accounts().sums().issued ==
        static_cast<std::int64_t>(running.table->sequences().size()));
}

// Formats of names change until the log has no room for another form; before and behind a restart
// the same is counted.
TEST_CASE("FormsOfTextsAreCountedInTheState", "[accepted]") {
  Running running(1);
  std::int64_t admitted = 0;
  std::int64_t busy = 0;
  for (int at = 0; at < 60; ++at) {
    const std::string name = "n" + std::to_string(at);
    running.settings.add(name);
    const Result<SequenceId> id = running.table->open(name);
    if (!id.ok()) {
      CHECK(id.status().code() == ErrorCode::BUSY);
      continue;
    }
    for (std::size_t form = 0; form < DefineName::kMostForms; ++form) {
      IdFormatSettings& text = running.settings.by_name[name].text;
      text.format =
          std::string(1, static_cast<char>('a' + form)) + std::string(190, 'x') + "{number}";
      text.compiled =
          std::make_shared<IdFormat>(read_template(text.format).value(), nullptr, IdKeys());
      running.table->apply_settings(running.limits);
      // An ID has to be there for the text.
      REQUIRE(running.table->at(*id).wait({1, 1, 0}, IssueKind::single, 1, 600'000).ok());
      running.settle();
      const Status status = running.table->admit_text(*id).status();
      CAPTURE(status.to_string());
      CHECK((status.ok() || status.code() == ErrorCode::BUSY));
      (status.ok() ? admitted : busy) += 1;
      running.settle();
    }
  }
  CAPTURE(admitted, running.table->sequences().size(), running.table->budgets().state_bytes());
  CHECK(admitted > 50);
  CHECK(busy > 0);
  CHECK(std::exchange(running.rotated, false));
  const std::int64_t counted = running.table->budgets().state_bytes();
  CHECK(counted <= running.limits.state_bytes);
  running.restart();
  running.settle();
  CHECK(running.table->budgets().state_bytes() == counted);
}

TEST_CASE("AnEntryOfEveryKindTakesNoMoreThanItIsCountedWith", "[accepted]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Token token;
  token.fill(0xff);
  const auto bytes = [](const LogEntry& entry) {
    std::vector<std::uint8_t> out;
    encode_entry(out, entry);
    return static_cast<std::int64_t>(out.size());
  };
  const std::int64_t range = bytes(AvailableRange{kLastSequence, token, 0, most, most});
  CHECK(range <= StateBounds::kRangeBytes);
  // A block is counted as two ranges.
  CHECK(range + bytes(BlockGranted{kLastSequence, kLastClient, 63, 0xffff'ffff, 0, most}) <=
        2 * StateBounds::kRangeBytes);
  CHECK(bytes(BlockEnded{kLastSequence, kLastClient, 63, 0, most}) <= StateBounds::kBlockEndBytes);
  const std::int64_t issue = bytes(RetainedIssue{
      Issued{kLastSequence, 1, most, kLastClient, 0xffff'ffff, IssueKind::text, 255, most}});
  CHECK(issue <= StateBounds::kIssueBytes);
  CHECK(bytes(DefineClient{kLastClient, token}) + bytes(ClientUser{kLastClient, 0xffff'fffe}) +
            bytes(Acknowledged{kLastClient, 0xffff'ffff}) <=
        StateBounds::kClientBytes);
  CHECK(bytes(DefineScope{kLastSequence, std::string(64, 'x'), token,
                          std::numeric_limits<std::uint64_t>::max(), ScopeState::owned, token}) +
            bytes(StoreBound{kLastSequence, token, std::string(230, 'x')}) +
            bytes(StoreHeartbeat{kLastSequence, token, most, StoreAge::restored}) <=
        StateBounds::kScopeBytes);
  const std::string period(RegisterReached::kMostPeriodBytes, 'x');
  CHECK(
      bytes(RegisterReached{kLastSequence, "", {RegisterReached::kMostPeriods, {period, most}}}) <=
      StateBounds::kRegisterBytes);
  const std::int64_t returning =
      range + bytes(ReturnOpened{kLastSequence, token, 0, most, Reuse::tail, most});
  const std::int64_t leasing = range + bytes(LeaseIntended{kLastSequence, token, most, most});
  CHECK(bytes(DefineSequence{kLastSequence, kLastSequence, "", "", most}) +
            bytes(SequenceTotals{kLastSequence, most, most, most, most, most}) +
            bytes(UsedBelow{kLastSequence, most}) + StateBounds::kRangesIncluded * range +
            std::max(returning, leasing) + issue <=  // that of the turn, not recorded yet
        StateBounds::kSequenceBytes);
  const DefineName name{"", least, {4, {least, most, least}}, {}};
  CHECK(bytes(name) + 2 <= StateBounds::kNameBytes);  // the length of a name takes up to 3
  DefineName with_form = name;
  with_form.forms.assign(DefineName::kMostForms, std::string(0xffff, 'x'));
  CHECK(bytes(with_form) - bytes(name) <=
        static_cast<std::int64_t>(DefineName::kMostForms) * (StateBounds::kFormBytes + 0xffff));
}

}  // namespace
}  // namespace seqd

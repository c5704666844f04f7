#include "daemon/state/log_format.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

namespace seqd {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::uint32_t all_ones = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t every_one = std::numeric_limits<std::uint64_t>::max();

std::vector<LogEntry> one_of_every_kind() {
  const Token token{1, 2, 3, 255};
  return {DefineScope{1, "default", token, 7, ScopeState::claiming, Token{9}},
          DefineSequence{2, 1, "orders", "counters/orders", 101},
          LeaseIntended{2, token, 100, 1'700'000'000'000},
          LeaseGranted{2, token, 101, 201, 1'700'000'000'001},
          LeaseClosed{2, token, LeaseEnd::untraceable, 3},
          Reserved{2, 150},
          Issued{2, 101, 103, 4, 17, IssueKind::batch},
          DefineClient{4, token},
          Acknowledged{4, 18},
          ForgetClient{4},
          GapMade{2, 103, 150, GapCause::out_of_bounds, 5},
          AvailableRange{2, token, 150, 201, 160},
          RetainedIssue{Issued{2, 101, 103, 4, 17, IssueKind::single}},
          SequenceTotals{2, 100, 2, 0, 47, 1},
          NextNumbers{3, 2, 5},
          ReturnOpened{2, token, 160, 201, Reuse::tail, 1'700'000'000'002},
          ReturnClosed{2, token, ReturnEnd::kept, GapCause::epoch_lost, 4},
          UsedBelow{2, 160},
          ForgetSequence{2},
          StoreBound{7, token, "mongodb db1:27017 shop"},
          DefineName{
              "orders", 1'795'284'000, {{0, 86'400, 1}, {172'800, 259'200, 5'001}}, {"{number}"}},
          ClientUser{4, 1'000},
          StoreHeartbeat{7, token, 12, StoreAge::restored},
          BlockGranted{2, 4, 63, 19, 150, 160},
          BlockEnded{2, 4, 63, 150, 155},
          RegisterReached{7, "invoices", {{"", 5}, {"2026", 1'000'000}}}};
}

std::vector<LogEntry> extremes() {
  Token token;
  token.fill(0xff);
  return {DefineScope{all_ones, std::string(max_string, 'x'), token,
                      std::numeric_limits<std::uint64_t>::max(), ScopeState::owned, token},
          DefineScope{},
          DefineSequence{all_ones, all_ones, std::string("\0\xff", 2), "", least},
          LeaseGranted{0, token, least, most, -1},
          LeaseGranted{0, token, most, least, least},
          Issued{all_ones, most, most, all_ones, all_ones, IssueKind::batch},
          Issued{all_ones, most, most, every_one, all_ones, IssueKind::text, 255, least},
          DefineClient{every_one, token},
          Acknowledged{every_one, all_ones},
          Issued{},
          Issued{2, 101, 103, 4, 17, IssueKind::text, 3, 1'795'284'309},
          RetainedIssue{Issued{2, 101, 103, 4, 17, IssueKind::text, 3, least}},
          AvailableRange{all_ones, token, most, 0, least},
          SequenceTotals{all_ones, most, least, -1, 1, 0},
          NextNumbers{all_ones, all_ones, every_one},
          ReturnOpened{all_ones, token, most, least, Reuse::parked, least},
          ReturnOpened{},
          ReturnClosed{all_ones, token, ReturnEnd::kept, GapCause::drained, least},
          UsedBelow{all_ones, least},
          ClientUser{every_one, all_ones},
          DefineName{},
          DefineName{std::string(max_string, 'x'),
                     least,
                     {{least, most, most}, {most, least, least}, {0, 0, 0}, {-1, 1, -1}},
                     std::vector<std::string>(DefineName::kMostForms, "")}};
}

std::vector<std::uint8_t> encoded(const LogEntry& entry) {
  std::vector<std::uint8_t> bytes;
  encode_entry(bytes, entry);
  return bytes;
}

TEST_CASE("EveryEntrySurvivesTheRoundTrip") {
  std::vector<LogEntry> entries = one_of_every_kind();
  REQUIRE(entries.size() == std::variant_size_v<LogEntry>);
  for (const LogEntry& entry : extremes()) entries.push_back(entry);
  std::vector<std::uint8_t> bytes;
  for (const LogEntry& entry : entries) encode_entry(bytes, entry);
  EntryReader reader(bytes);
  for (const LogEntry& entry : entries) {
    Result<LogEntry> read = reader.next();
    REQUIRE(read.ok());
    REQUIRE(*read == entry);
  }
  CHECK(reader.at_end());
}

TEST_CASE("AnEntryCutOffAnywhereIsCorrupt") {
  for (const LogEntry& entry : one_of_every_kind()) {
    const std::vector<std::uint8_t> bytes = encoded(entry);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EntryReader reader{std::span<const std::uint8_t>(bytes).first(length)};
      REQUIRE(reader.next().status().code() == ErrorCode::STATE_CORRUPT);
    }
  }
}

TEST_CASE("AnUnknownKindIsCorruptAndNamed") {
  const std::vector<std::uint8_t> bytes = {26, 0, 0};
  const Status status = EntryReader(bytes).next().status();
  CHECK(status.code() == ErrorCode::STATE_CORRUPT);
  CHECK(status.text().find("unknown kind 26") != std::string::npos);
}

TEST_CASE("AnUnknownChoiceIsCorrupt") {
  std::vector<std::uint8_t> bytes = encoded(LeaseClosed{1, {}, LeaseEnd::untraceable, 0});
  bytes[bytes.size() - 2] = 2;
  CHECK(EntryReader(bytes).next().status().code() == ErrorCode::STATE_CORRUPT);
}

TEST_CASE("NumbersTooLongOrTooLargeAreCorrupt") {
  const std::vector<std::uint8_t> eleven_bytes = {9,    0x80, 0x80, 0x80, 0x80, 0x80,
                                                  0x80, 0x80, 0x80, 0x80, 0x80, 0};
  const std::vector<std::uint8_t> sixty_five_bits = {9,    0xff, 0xff, 0xff, 0xff, 0xff,
                                                     0xff, 0xff, 0xff, 0xff, 0x02};
  const std::vector<std::uint8_t> thirty_three_bits = {18, 0xff, 0xff, 0xff, 0xff, 0x1f};
  for (const auto& bytes : {eleven_bytes, sixty_five_bits, thirty_three_bits}) {
    CHECK(EntryReader(bytes).next().status().code() == ErrorCode::STATE_CORRUPT);
  }
}

TEST_CASE("ATextLongerThanWhatIsLeftIsCorrupt") {
  const std::vector<std::uint8_t> bytes = {0, 1, 0xff, 0xff, 0x03, 'x'};
  CHECK(EntryReader(bytes).next().status().code() == ErrorCode::STATE_CORRUPT);
}

TEST_CASE("AListThatIsTooLongIsCorrupt") {
  CHECK(EntryReader(std::vector<std::uint8_t>{20, 1, 'a', 0, 5})
            .next()
            .status()
            .text()
            .find("a list is too long") != std::string::npos);
  CHECK(EntryReader(std::vector<std::uint8_t>{20, 1, 'a', 0, 0, 17})
            .next()
            .status()
            .text()
            .find("a list is too long") != std::string::npos);
}

// The bytes of an entry by the table of LOG-FORMAT.md, without the code that it describes.
class Documented {
 public:
  explicit Documented(std::uint8_t kind) : bytes_{kind} {}
  Documented& number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<std::uint8_t>(number | 0x80));
    bytes_.push_back(static_cast<std::uint8_t>(number));
    return *this;
  }
  Documented& choice(std::uint8_t choice) {
    bytes_.push_back(choice);
    return *this;
  }
  Documented& token(std::vector<std::uint8_t> front = {1, 2, 3, 255}) {
    front.resize(16);
    bytes_.insert(bytes_.end(), front.begin(), front.end());
    return *this;
  }
  Documented& text(const std::string& text) {
    number(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  operator std::vector<std::uint8_t>() const { return bytes_; }  // NOLINT: a table of bytes

 private:
  std::vector<std::uint8_t> bytes_;
};

// A round trip would not notice two fields that changed their places, which older and newer logs
// would then read wrongly.
TEST_CASE("EveryKindIsEncodedAsDocumented") {
  const std::vector<std::vector<std::uint8_t>> documented = {
      Documented(0).number(1).text("default").token().number(7).choice(1).token({9}),
      Documented(1).number(2).number(1).text("orders").text("counters/orders").number(101),
      Documented(2).number(2).token().number(100).number(1'700'000'000'000),
      Documented(3).number(2).token().number(101).number(100).number(1'700'000'000'001),
      Documented(4).number(2).token().choice(1).number(3),
      Documented(5).number(2).number(150),
      Documented(6).number(2).number(101).number(2).number(4).number(17).choice(1),
      Documented(7).number(4).token(),
      Documented(8).number(4).number(18),
      Documented(9).number(4),
      Documented(10).number(2).number(103).number(47).choice(4).number(5),
      Documented(11).number(2).token().number(150).number(51).number(10),
      Documented(12).number(2).number(101).number(2).number(4).number(17).choice(0),
      Documented(13).number(2).number(100).number(2).number(0).number(47).number(1),
      Documented(14).number(3).number(2).number(5),
      Documented(15).number(2).token().number(160).number(41).choice(1).number(1'700'000'000'002),
      Documented(16).number(2).token().choice(1).choice(2).number(4),
      Documented(17).number(2).number(160),
      Documented(18).number(2),
      Documented(19).number(7).token().text("mongodb db1:27017 shop"),
      Documented(20)
          .text("orders")
          .number(1'795'284'000)
          .number(2)
          .number(0)
          .number(86'400)
          .number(1)
          .number(172'800)
          .number(86'400)
          .number(5'001)
          .number(1)
          .text("{number}"),
      Documented(21).number(4).number(1'000),
      Documented(22).number(7).token().number(12).choice(1),
      Documented(23).number(2).number(4).number(63).number(19).number(150).number(10),
      Documented(24).number(2).number(4).number(63).number(150).number(5),
      Documented(25)
          .number(7)
          .text("invoices")
          .number(2)
          .text("")
          .number(5)
          .text("2026")
          .number(1'000'000)};
  REQUIRE(documented.size() == std::variant_size_v<LogEntry>);
  const std::vector<LogEntry> entries = one_of_every_kind();
  for (std::size_t kind = 0; kind < documented.size(); ++kind) {
    CAPTURE(kind);
    CHECK(encoded(entries[kind]) == documented[kind]);
  }
}

TEST_CASE("TextIsEncodedAsDocumentedWithItsForm") {
  const std::vector<std::uint8_t> documented = Documented(6)
                                                   .number(2)
                                                   .number(101)
                                                   .number(2)
                                                   .number(4)
                                                   .number(17)
                                                   .choice(2)
                                                   .number(1'795'284'309)
                                                   .number(5);
  CHECK(encoded(Issued{2, 101, 103, 4, 17, IssueKind::text, 5, 1'795'284'309}) == documented);
}

// The example of LOG-FORMAT.md.
TEST_CASE("AnIssueOfOneIdIsEncodedAsDocumented") {
  CHECK(encoded(Issued{1, 1000, 1001, 3, 42, IssueKind::single}) ==
        std::vector<std::uint8_t>{0x06, 0x01, 0xe8, 0x07, 0x01, 0x03, 0x2a, 0x00});
}

}  // namespace
}  // namespace seqd

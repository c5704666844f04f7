// Runs vectors.json, the test vectors that clients in other languages run too, and checks that the
// examples and tables of PROTOCOL.md are true.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "protocol/errors.h"
#include "protocol/fast/fast_request.h"
#include "protocol/frame_scanner.h"
#include "protocol/hex_bytes.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/requests.h"

namespace seqd::protocol {
namespace {

using Json = nlohmann::json;

std::string read_file(const std::string& name) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / name;
  std::ifstream file(path);
  INFO(path << " (run the tests from the root of the source)");
  REQUIRE(file.good());
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

constexpr const char* kPresent = "vectors.json";

const Json& vectors(const std::string& file = kPresent) {
  static std::map<std::string, Json> parsed;
  auto found = parsed.find(file);
  if (found == parsed.end()) found = parsed.emplace(file, Json::parse(read_file(file))).first;
  return found->second;
}

// The vectors of this version, and those that every released version kept.
std::vector<std::string> files() {
  const std::string golden = "../tests/golden";
  const auto here = std::filesystem::path(__FILE__).parent_path();
  std::vector<std::string> names = {kPresent};
  for (const auto& version : std::filesystem::directory_iterator(here / golden)) {
    if (version.is_directory() && version.path().filename().string()[0] != '_')
      names.push_back(golden + "/" + version.path().filename().string() + "/vectors.json");
  }
  REQUIRE(names.size() > 1);
  return names;
}

Json read_value(ValueReader& reader);

Json read_map(ValueReader& reader) {
  Json map = Json::object();
  const auto pairs = reader.read_map();
  for (std::uint32_t pair = 0; pair < pairs.value(); ++pair) {
    const std::string key(reader.read_text().value());
    map[key] = read_value(reader);
  }
  return map;
}

// The value at the cursor in the notation of vectors.json.
Json read_value(ValueReader& reader) {
  constexpr std::int64_t kLargestInJson = (std::int64_t{1} << 53) - 1;
  switch (reader.kind()) {
    case ValueKind::nil:
      REQUIRE(reader.read_nil());
      return nullptr;
    case ValueKind::boolean:
      return reader.read_bool().value();
    case ValueKind::integer: {
      const std::int64_t value = reader.read_integer().value();
      if (value > kLargestInJson) return Json{{"integer", std::to_string(value)}};
      return value;
    }
    case ValueKind::string:
      return std::string(reader.read_text().value());
    case ValueKind::binary:
      return Json{{"bin", to_hex_digits(bytes_of(reader.read_text().value()))}};
    case ValueKind::array: {
      Json array = Json::array();
      const auto count = reader.read_array();
      for (std::uint32_t element = 0; element < count.value(); ++element)
        array.push_back(read_value(reader));
      return array;
    }
    case ValueKind::map:
      return read_map(reader);
    default:
      FAIL("no value of the protocol");
      return nullptr;
  }
}

FrameLimits limits_of(const Json& vector) {
  FrameLimits limits;
  if (!vector.contains("limits")) return limits;
  limits.frame = vector["limits"].value("frame", limits.frame);
  limits.depth = vector["limits"].value("depth", limits.depth);
  return limits;
}

void check_call(const Message& message, const Json& expect) {
  CHECK(message.method == expect["method"].get<std::string>());
  Json params = Json::array();
  ValueReader reader = message.params;
  for (std::uint32_t param = 0; param < message.param_count; ++param)
    params.push_back(read_value(reader));
  CHECK(reader.at_end());
  CHECK(params == expect["params"]);
}

Buffer write(const Json& call) {
  Buffer out;
  const std::string kind = call["kind"];
  const std::uint32_t msgid = call.value("msgid", 0U);
  const std::string name = call.value("name", "");
  std::optional<std::int64_t> timeout_ms;
  if (call.contains("timeout_ms")) timeout_ms = call["timeout_ms"].get<std::int64_t>();
  if (kind == "next") append_next(out, msgid, name, timeout_ms);
  if (kind == "next_text") append_next_text(out, msgid, name, timeout_ms);
  if (kind == "range")
    append_range(out, msgid, name, call["count"].get<std::int64_t>(), timeout_ms);
  if (kind == "peek") append_peek(out, msgid, name);
  if (kind == "ack") append_ack(out, call["below"].get<std::uint32_t>());
  if (kind == "call") append_call(out, msgid, call["method"].get<std::string>());
  if (kind == "hello") {
    Hello hello;
    const std::string client_name = call.value("client_name", "");
    hello.name = client_name;
    if (call.contains("client")) {
      const Bytes bytes = hex_bytes(call["client"].get<std::string>());
      REQUIRE(bytes.size() == kIdentityBytes);
      hello.client.emplace();
      std::copy(bytes.begin(), bytes.end(), hello.client->begin());
    }
    append_hello(out, msgid, hello);
  }
  return out;
}

}  // namespace

TEST_CASE("EveryRequestOfTheVectorsIsUnderstood", "[protocol][conformance]") {
  const std::string file = GENERATE(from_range(files()));
  REQUIRE(vectors(file)["requests"].size() > 40);
  for (const Json& vector : vectors(file)["requests"]) {
    INFO(file << ": " << vector["name"]);
    const Json& expect = vector["expect"];
    const Bytes bytes = hex_bytes(vector["hex"].get<std::string>());
    FrameScanner scanner(limits_of(vector));
    const ScanResult scanned = scanner.scan(bytes);
    REQUIRE(scanned.kind == ScanResult::Kind::complete);
    CHECK(scanned.size == bytes.size());
    Message message;
    REQUIRE(parse_message(bytes, message).ok());
    const bool request = expect["kind"] == "request";
    CHECK(message.kind == (request ? Message::Kind::request : Message::Kind::notification));
    if (request) CHECK(message.msgid == expect["msgid"].get<std::uint32_t>());
    check_call(message, expect);
    if (file != kPresent) continue;  // which requests are decoded the fast way is no promise
    const std::size_t expected_size = expect["fast"].get<bool>() ? bytes.size() : 0;
    CHECK(FastParser().parse(bytes) == expected_size);
  }
}

TEST_CASE("EveryBadFrameOfTheVectorsIsRefusedWithItsErrorAndMsgid", "[protocol][conformance]") {
  const std::string file = GENERATE(from_range(files()));
  REQUIRE(vectors(file)["bad_frames"].size() > 20);
  for (const Json& vector : vectors(file)["bad_frames"]) {
    INFO(file << ": " << vector["name"]);
    const Bytes bytes = hex_bytes(vector["hex"].get<std::string>());
    FrameScanner scanner(limits_of(vector));
    const ScanResult scanned = scanner.scan(bytes);
    REQUIRE(scanned.kind != ScanResult::Kind::need_more);
    ErrorCode error = scanned.error;
    std::uint32_t msgid = readable_msgid(bytes);
    if (scanned.kind == ScanResult::Kind::complete) {
      Message message;
      const ParseOutcome outcome = parse_message(std::span(bytes).first(scanned.size), message);
      error = outcome.error;
      msgid = outcome.msgid;
    }
    CHECK(error_name(error) == vector["expect"]["error"].get<std::string>());
    CHECK(msgid == vector["expect"]["msgid"].get<std::uint32_t>());
    CHECK(FastParser().parse(bytes) == 0);
  }
}

TEST_CASE("EveryIncompleteFrameOfTheVectorsIsWaitedFor", "[protocol][conformance]") {
  const std::string file = GENERATE(from_range(files()));
  for (const Json& vector : vectors(file)["incomplete"]) {
    INFO(file << ": " << vector["name"]);
    FrameScanner scanner(limits_of(vector));
    const Bytes bytes = hex_bytes(vector["hex"].get<std::string>());
    CHECK(scanner.scan(bytes).kind == ScanResult::Kind::need_more);
  }
}

TEST_CASE("EveryReplyOfTheVectorsIsUnderstood", "[protocol][conformance]") {
  const std::string file = GENERATE(from_range(files()));
  for (const Json& vector : vectors(file)["replies"]) {
    INFO(file << ": " << vector["name"]);
    const Json& expect = vector["expect"];
    const Bytes bytes = hex_bytes(vector["hex"].get<std::string>());
    FrameScanner scanner(kReplyLimits);
    REQUIRE(scanner.scan(bytes).size == bytes.size());
    Message message;
    REQUIRE(parse_message(bytes, message).ok());
    CHECK(message.kind == Message::Kind::reply);
    CHECK(message.msgid == expect["msgid"].get<std::uint32_t>());
    const auto error = read_reply_error(message.error);
    REQUIRE(error.has_value() == expect.contains("error"));
    ValueReader result = message.result;
    if (error) {
      CHECK(error_name(error->code) == expect["error"]["code"].get<std::string>());
      CHECK(error->text == expect["error"]["text"].get<std::string>());
      CHECK(static_cast<int>(error_info(error->code).fault) == expect["error"]["fault"].get<int>());
      CHECK(result.read_nil());
      continue;
    }
    CHECK(read_value(result) == expect["result"]);
    if (!expect.value("runs", false)) continue;
    ValueReader runs = message.result;
    REQUIRE(runs.read_array() == expect["result"].size());
    for (const Json& run : expect["result"]) CHECK(read_run(runs) == Run{run[0], run[1], run[2]});
  }
}

TEST_CASE("EveryCallOfTheVectorsIsWrittenAsTheySay", "[protocol][conformance]") {
  const std::string file = GENERATE(from_range(files()));
  REQUIRE(vectors(file)["encode"].size() > 20);
  for (const Json& vector : vectors(file)["encode"]) {
    INFO(file << ": " << vector["name"]);
    CHECK(to_hex_digits(write(vector["write"]).bytes()) == vector["hex"].get<std::string>());
  }
}

TEST_CASE("TheNamesOfTheVectorsAreUnique", "[protocol][conformance]") {
  for (const char* list : {"requests", "bad_frames", "incomplete", "replies", "encode"}) {
    std::set<std::string> names;
    for (const Json& vector : vectors()[list]) CHECK(names.insert(vector["name"]).second);
  }
}

// An example of PROTOCOL.md: a line of hexadecimal digits, `=`, and the value in the notation of
// vectors.json.
TEST_CASE("TheHexExamplesOfTheDocumentAreTrue", "[protocol][conformance]") {
  std::istringstream document(read_file("PROTOCOL.md"));
  std::string line;
  bool inside = false;
  int examples = 0;
  while (std::getline(document, line)) {
    if (line.starts_with("```")) inside = line == "```hex";
    const std::size_t sign = line.find(" = ");
    if (!inside || sign == std::string::npos) continue;
    INFO(line);
    const Bytes bytes = hex_bytes(line.substr(0, sign));
    FrameScanner scanner(FrameLimits{});
    REQUIRE(scanner.scan(bytes).size == bytes.size());
    Message message;
    CHECK(parse_message(bytes, message).ok());
    ValueReader reader{bytes};
    CHECK(read_value(reader) == Json::parse(line.substr(sign + 3)));
    ++examples;
  }
  CHECK(examples >= 8);
}

TEST_CASE("TheTablesOfTheDocumentHaveEveryErrorAndLimit", "[protocol][conformance]") {
  const std::string document = read_file("PROTOCOL.md");
#define X(code, fault, retry, meaning)                                                      \
  CHECK(document.find("| `" #code "` | " + std::to_string(static_cast<int>(Fault::fault)) + \
                      " | " #retry " | " meaning " |") != std::string::npos);
#include "protocol/errors.def"
#undef X
  const auto number = [](std::int64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits;
  };
  for (const Limit& limit : kLimits) {
    const std::string row = "| `" + std::string(limit.name) + "` | " + number(limit.default_value) +
                            " | " + number(limit.min) + " | " + number(limit.max) + " |";
    INFO(row);
    CHECK(document.find(row) != std::string::npos);
  }
}

}  // namespace seqd::protocol

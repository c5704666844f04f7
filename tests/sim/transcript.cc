#include "tests/sim/transcript.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/state/log_format.h"

namespace seqd::sim {
namespace {

constexpr std::size_t kTokenBytes = std::tuple_size_v<Token>;
constexpr std::size_t kTokenDigits = 2 * kTokenBytes;
constexpr std::uint8_t kBin8 = 0xc4;  // in MessagePack

// Calls `call` with each token of the entry.
void for_each_token(LogEntry& entry, const auto& call) {
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.lease; }) call(kind.lease);
        if constexpr (requires { kind.token; }) call(kind.token);
        if constexpr (requires { kind.instance; }) call(kind.instance);
        if constexpr (requires { kind.nonce; }) call(kind.nonce);
        if constexpr (requires { kind.identity; }) call(kind.identity);
      },
      entry);
}

bool begins_with_a_token(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 + kTokenBytes && bytes[0] == kBin8 && bytes[1] == kTokenBytes;
}

void add_hex(std::string& line, std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  line += kDigits[byte >> 4];
  line += kDigits[byte & 15];
}

}  // namespace

void Transcript::appended(std::int64_t daemon, const LogEntry& entry) {
  if (use_ == Use::none) return;
  line_ = "log";
  add(daemon);
  add(entry.index());
  LogEntry without = entry;
  for_each_token(without, [&](Token& token) { add(std::exchange(token, Token{})); });
  std::vector<std::uint8_t> bytes;
  encode_entry(bytes, without);
  add(std::span<const std::uint8_t>(bytes));
  finish();
}

void Transcript::raised(std::int64_t daemon, const Event& event) {
  if (use_ == Use::none) return;
  line_ = "event";
  add(daemon);
  add(event_info(event.kind).name);
  for (const auto& [name, value] : event.fields) {
    add(name);
    add(value);
  }
  finish();
}

void Transcript::replied(std::int64_t daemon, std::uint64_t connection,
                         std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) write("reply", daemon, connection, bytes);
}

void Transcript::add(std::string_view text) {
  line_ += ' ';
  while (!text.empty()) {
    const auto token = from_hex(text.substr(0, kTokenDigits));
    if (token) line_ += numbered(*token);
    if (!token) line_ += text.front();
    text.remove_prefix(token ? kTokenDigits : 1);
  }
}

void Transcript::add(const CounterBinding& binding) {
  add(binding.key);
  add(binding.first_id);
  add(binding.create);
}

void Transcript::add(std::span<const std::uint8_t> bytes) {
  line_ += ' ';
  while (!bytes.empty()) {
    if (begins_with_a_token(bytes)) {
      Token token{};
      std::copy_n(bytes.begin() + 2, kTokenBytes, token.begin());
      line_ += numbered(token);
      bytes = bytes.subspan(2 + kTokenBytes);
    } else {
      add_hex(line_, bytes.front());
      bytes = bytes.subspan(1);
    }
  }
}

std::string Transcript::numbered(const Token& token) {
  if (token == Token{}) return "#0";
  const auto [at, is_new] = tokens_.emplace(token, tokens_.size() + 1);
  return "#" + std::to_string(at->second);
}

void Transcript::finish() {
  line_ += '\n';
  if (use_ == Use::print) std::fputs(line_.c_str(), stdout);
  for (const char each : line_) {
    digest_ ^= static_cast<std::uint8_t>(each);
    digest_ *= 0x100000001b3;
  }
}

}  // namespace seqd::sim

// Transcript: what the daemons of a world do, line by line: entries and records of their logs,
// requests to the stores, events and replies. Two builds that behave alike have the same one for
// every seed. A token is written as the number of its first appearance, so that nothing depends on
// its bits. Nothing is written unless somebody reads it. One thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "daemon/base/events.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/log/log_entry.h"

namespace seqd::sim {

class Transcript {
 public:
  enum class Use : std::uint8_t { none, digest, print };

  explicit Transcript(Use use) : use_(use) {}

  // --- what a daemon does; `daemon` is its number
  void started(std::int64_t daemon, std::string_view how) { write("start", daemon, how); }
  void appended(std::int64_t daemon, const LogEntry& entry);
  void committed(std::int64_t daemon) { write("commit", daemon); }
  void raised(std::int64_t daemon, const Event& event);
  // The bytes that leave on a connection at the end of a turn.
  void replied(std::int64_t daemon, std::uint64_t connection, std::span<const std::uint8_t> bytes);
  // A request to a store: `verb`, and what it asks for.
  template <typename... Parts>
  void asked(std::int64_t daemon, std::string_view store, const char* verb, const Parts&... parts) {
    write(verb, daemon, store, parts...);
  }

  // Another world is over; its digest becomes a line.
  void finished(std::uint64_t seed, std::uint64_t digest) {
    write("world", static_cast<std::int64_t>(seed), digest);
  }

  // Of all lines until now (FNV-1a).
  std::uint64_t digest() const { return digest_; }

 private:
  template <typename... Parts>
  void write(const char* what, std::int64_t daemon, const Parts&... parts) {
    if (use_ == Use::none) return;
    line_ = what;
    add(daemon);
    (add(parts), ...);
    finish();
  }
  void add(std::integral auto number) { line_ += ' ' + std::to_string(number); }
  // What looks like a token in hexadecimal digits is one.
  void add(std::string_view text);
  void add(const Token& token) { line_ += ' ' + numbered(token); }
  void add(const CounterBinding& binding);
  // In hexadecimal digits, but for a token, which is a `bin` of 16 bytes.
  void add(std::span<const std::uint8_t> bytes);
  std::string numbered(const Token& token);
  void finish();

  const Use use_;
  std::string line_;
  std::map<Token, std::size_t> tokens_;
  std::uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace seqd::sim

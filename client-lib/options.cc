// What the options of seqd_open mean; see seqd.h.
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "client-lib/client_options.h"
#include "client-lib/session/connection.h"
#include "protocol/limits.h"
#include "protocol/version.h"

namespace seqd::engine {
namespace {

// A larger size is invalid: no version will have so many fields.
constexpr std::size_t kLargestSize = 4'096;
constexpr std::int64_t kDefaultTimeoutMs = 5'000;
constexpr std::int64_t kLongestTimeoutMs = std::int64_t{365} * 24 * 3'600'000;
constexpr std::int64_t kLongestBusyPollUs = 1'000'000;
constexpr const char* kDefaultSocket = "/run/seqd.sock";

// The fields that the caller knows; the others are zero, which is their default.
Outcome copy_known(const seqd_options* from, seqd_options& to) {
  to = {};
  if (from == nullptr) return {};
  const auto* bytes = reinterpret_cast<const char*>(from);
  if (from->size < offsetof(seqd_options, socket_path) + sizeof(from->socket_path) ||
      from->size > kLargestSize)
    return {SEQD_E_ARGUMENT, "options.size is not set; SEQD_OPTIONS_INIT sets it"};
  const std::size_t known = std::min(from->size, sizeof(to));
  // The caller may rely on a field that would be ignored.
  if (std::any_of(bytes + known, bytes + from->size, [](char byte) { return byte != 0; }))
    return {SEQD_E_ARGUMENT,
            "options has a field that libseqd " SEQD_VERSION " does not know: update the library"};
  std::copy_n(bytes, known, reinterpret_cast<char*>(&to));
  return {};
}

Outcome read_timeout(const char* name, std::int64_t given, std::int64_t fallback,
                     std::int64_t& out) {
  if (given < 0 || given > kLongestTimeoutMs)
    return {SEQD_E_ARGUMENT, std::string(name) + " is not within 0 .. one year"};
  out = given == 0 ? fallback : given;
  return {};
}

}  // namespace

Outcome read_options(const seqd_options* options, ClientOptions& out) {
  seqd_options given;
  Outcome outcome = copy_known(options, given);
  if (!outcome.ok()) return outcome;
  const char* path = given.socket_path;
  if (path == nullptr || *path == '\0') path = std::getenv("SEQD_SOCKET");
  if (path == nullptr || *path == '\0') path = kDefaultSocket;
  out.socket_path = path;
  if (!Connection::is_path_legal(out.socket_path))
    return {SEQD_E_ARGUMENT, "the socket path is longer than 107 bytes"};
  out.name = given.name == nullptr ? "" : given.name;
  if (out.name.size() > protocol::kClientNameBytes)
    return {SEQD_E_ARGUMENT, "the application's name is longer than 64 bytes"};
  if ((given.flags & ~std::uint64_t{SEQD_ANONYMOUS | SEQD_DAEMON_WAIT}) != 0)
    return {SEQD_E_ARGUMENT, "options.flags has bits that this library does not know"};
  if (given.busy_poll_us < 0 || given.busy_poll_us > kLongestBusyPollUs)
    return {SEQD_E_ARGUMENT, "busy_poll_us is not within 0 .. 1000000"};
  out.busy_poll_us = given.busy_poll_us;
  out.anonymous = (given.flags & SEQD_ANONYMOUS) != 0;
  out.daemon_decides_wait = (given.flags & SEQD_DAEMON_WAIT) != 0;
  outcome = read_timeout("timeout_ms", given.timeout_ms, kDefaultTimeoutMs, out.timeout_ms);
  if (!outcome.ok()) return outcome;
  return read_timeout("connect_timeout_ms", given.connect_timeout_ms, out.timeout_ms,
                      out.connect_timeout_ms);
}

}  // namespace seqd::engine

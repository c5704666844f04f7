// What the options of seqd_open mean; see seqd.h.
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "client-lib/client.h"
#include "protocol/limits.h"

namespace seqd::engine {
namespace {

constexpr std::int64_t kDefaultTimeoutMs = 5'000;
constexpr std::int64_t kLongestTimeoutMs = std::int64_t{365} * 24 * 3'600'000;
constexpr const char* kDefaultSocket = "/run/seqd.sock";

// The fields that the caller knows; the others are zero, which is their default.
bool copy_known(const seqd_options* from, seqd_options& to) {
  to = {};
  if (from == nullptr) return true;
  if (from->size < offsetof(seqd_options, socket_path) + sizeof(from->socket_path)) return false;
  const auto* bytes = reinterpret_cast<const char*>(from);
  std::copy_n(bytes, std::min(from->size, sizeof(to)), reinterpret_cast<char*>(&to));
  return true;
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
  if (!copy_known(options, given))
    return {SEQD_E_ARGUMENT, "options.size is not set; SEQD_OPTIONS_INIT sets it"};
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
  out.anonymous = (given.flags & SEQD_ANONYMOUS) != 0;
  out.daemon_decides_wait = (given.flags & SEQD_DAEMON_WAIT) != 0;
  Outcome outcome = read_timeout("timeout_ms", given.timeout_ms, kDefaultTimeoutMs, out.timeout_ms);
  if (!outcome.ok()) return outcome;
  return read_timeout("connect_timeout_ms", given.connect_timeout_ms, out.timeout_ms,
                      out.connect_timeout_ms);
}

}  // namespace seqd::engine

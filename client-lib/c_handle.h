// The handle of the C ABI, and what its functions share: they check arguments, and no exception
// leaves them. One thread at a time for a handle.
//
// Invariant: a handle without an engine is one whose seqd_open failed; `error` says why, and is
// what every call gives.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "client-lib/client.h"
#include "protocol/limits.h"

struct seqd_client {
  std::unique_ptr<seqd::engine::Client> engine;
  seqd::engine::Outcome error;      // the last one
  seqd::engine::Answer answer;      // of the last seqd_range, seqd_next_text or seqd_call
  seqd::engine::ParsedText parsed;  // of the last seqd_parse
};

namespace seqd::engine {

inline Outcome argument(const char* text) {
  return {SEQD_E_ARGUMENT, text};
}

inline int fail(seqd_client* client, Outcome outcome) {
  const int code = outcome.code;
  if (code != SEQD_OK) client->error = std::move(outcome);
  return code;
}

// A thread is cancelled behind a call of the library, not in it: glibc cancels by an exception,
// which may not be kept, and one that sleeps at the socket for all threads would leave the others
// there.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Runs `body` for a handle that may be used here. It gives an Outcome; or a code, if fail() has had
// the error. In `body` is nothing in which a thread could be cancelled: no call of the kernel.
template <typename Body>
int guarded_in_memory(seqd_client* client, Body body) {
  if (client == nullptr) return SEQD_E_ARGUMENT;
  if (client->engine == nullptr) return client->error.code;
  try {
    if (client->engine->is_forked()) {
      return fail(client, {SEQD_E_FORKED,
                           "this handle belongs to the parent process: open one after fork()"});
    }
    client->engine->begin_call();
    if constexpr (std::is_same_v<decltype(body(*client->engine)), int>)
      return body(*client->engine);
    else
      return fail(client, body(*client->engine));
  } catch (...) {
    const NoCancellation recovering;
    // Only memory can run out. The text is short enough to need none.
    client->error.code = client->engine->recover();
    client->error.text = "out of memory";
    return client->error.code;
  }
}

// The same of any `body`.
template <typename Body>
int guarded(seqd_client* client, Body body) {
  const NoCancellation whole;
  return guarded_in_memory(client, std::move(body));
}

// Copies the fields that a caller with a structure of `size` bytes knows; the caller's own `size`,
// at the beginning, stays. False: not even those of the first version, which end at `least`.
template <typename Structure>
bool copy_out(const Structure& from, Structure* to, std::size_t least) {
  std::size_t size = 0;
  std::memcpy(&size, to, sizeof(size));
  if (size < least) return false;
  const auto* bytes = reinterpret_cast<const char*>(&from);
  std::copy(bytes + sizeof(size), bytes + std::min(size, sizeof(from)),
            reinterpret_cast<char*>(to) + sizeof(size));
  return true;
}

// Where a field ends: the structures' first versions do not change with what is added behind.
#define SEQD_END_OF(structure, field) \
  (offsetof(structure, field) + sizeof(static_cast<structure*>(nullptr)->field))

// The requests of seqd.h, with arguments that a daemon may accept; its rules are the daemon's.
Outcome check_name(const char* name);
// The name and its length; empty: check_name() says why.
inline std::string_view read_name(const char* name) {
  constexpr auto kLongest = static_cast<std::size_t>(protocol::kNameLimit.max);
  if (name == nullptr) return {};
  const std::size_t size = ::strnlen(name, kLongest + 1);
  return size > kLongest ? std::string_view() : std::string_view(name, size);
}
Outcome make_next(const char* name, Request& request);
Outcome make_range(const char* name, std::int64_t count, Request& request);
// `unique` null: it is not repeated.
Outcome make_insert(const char* name, const void* document, std::size_t length, const char* unique,
                    Request& request);
// Whether the bytes are exactly one value of that kind.
bool is_one(std::string_view bytes, protocol::ValueKind kind);

}  // namespace seqd::engine

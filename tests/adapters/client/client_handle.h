// Handle: a handle of the C ABI that closes itself. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "client-lib/seqd.h"
#include "tests/adapters/client/socket_daemon.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

struct Handle {
  seqd_client* client = nullptr;

  explicit Handle(const SocketDaemon& daemon, std::int64_t timeout_ms = 10'000,
                  std::uint64_t flags = 0, std::int64_t busy_poll_us = 0) {
    seqd_options options = SEQD_OPTIONS_INIT;
    options.socket_path = daemon.path().c_str();
    options.timeout_ms = timeout_ms;
    options.flags = flags;
    options.busy_poll_us = busy_poll_us;
    REQUIRE(seqd_open(&options, &client) == SEQD_OK);
  }
  ~Handle() { seqd_close(client); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  std::int64_t next() {
    std::int64_t id = 0;
    const int code = seqd_next(client, "orders", &id);
    INFO(seqd_last_error(client));
    REQUIRE(code == SEQD_OK);
    return id;
  }
  std::string error() const { return seqd_last_error(client); }
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace seqd::testing

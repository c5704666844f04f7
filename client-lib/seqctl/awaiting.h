// Awaiting: the answers to requests of one handle, until an interruption. After an interruption it
// waits a moment for answers in flight; a request whose answer has not arrived then is unanswered.
// The daemon drops a request that waits when its connection is closed. Owned by a command; one
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "client-lib/seqd.h"

namespace seqd::seqctl {

class Awaiting {
 public:
  // `client` outlives this.
  explicit Awaiting(seqd_client* client) : client_(client) {}

  // Waits for one answer. False: none comes, because nothing is in flight, an interruption ended
  // the waiting, or, with `code` and `error`, the handle failed.
  bool next(seqd_reply& reply, int& code, std::string& error);
  // Requests that an interruption left without an answer.
  std::size_t unanswered() const { return unanswered_; }

 private:
  std::int64_t patience_ms();

  seqd_client* client_;
  std::optional<std::chrono::steady_clock::time_point> ends_;  // the moment after an interruption
  std::size_t unanswered_ = 0;
};

// A sentence about the requests that an interruption left.
std::string unanswered_text(std::size_t requests);

}  // namespace seqd::seqctl

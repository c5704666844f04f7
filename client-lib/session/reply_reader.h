// Reads and checks the daemon's replies: every reply has the types, bounds and sums that its
// request requires, or it is SEQD_E_PROTOCOL. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/session/outcome.h"
#include "client-lib/session/request.h"
#include "protocol/messages.h"

namespace seqd::engine {

// The reply to peek.
struct Peeked {
  std::optional<std::int64_t> next;
  std::int64_t available = 0;
  std::optional<std::int64_t> last;
};

// The answer to one request.
struct Answer {
  // What few answers have.
  struct Rest {
    std::vector<seqd_run> all;  // the runs, when there is not exactly one
    Peeked peeked;              // of peek
    std::string result;         // of call: one MessagePack value; of next_text: the text
  };
  void* tag = nullptr;
  Outcome outcome;
  seqd_run first = {0, 0, 0};  // the only run, when there is no more; its count is 0: no run
  std::unique_ptr<Rest> rest;

  Rest& more() {
    if (!rest) rest = std::make_unique<Rest>();
    return *rest;
  }
  const std::string& result() const {
    static const std::string kNone;
    return rest ? rest->result : kNone;
  }
  // Valid as long as the answer is not moved.
  std::span<const seqd_run> runs() const {
    if (rest && !rest->all.empty()) return rest->all;
    return {&first, first.count == 0 ? std::size_t{0} : std::size_t{1}};
  }
  // Frees memory. Tag and run stay: they are written when the place is filled again.
  void clear() {
    if (!outcome.ok()) outcome = Outcome();
    if (rest) rest.reset();
  }
};

// What a text means.
struct ParsedText {
  std::int64_t number = 0;
  std::string period;  // empty: the text does not say
  std::string check;   // empty: the text has no check digits
};

// The reply to hello.
struct HelloAnswer {
  bool known = false;
  std::string connection;  // its name for this connection; empty: it inserts nothing
  std::map<std::string, std::int64_t, std::less<>> limits;
};

// The error of a reply, or OK.
Outcome read_error(const protocol::Message& reply);

// Fills `answer` from the result of `reply`, which has no error and was parsed from `frame`.
Outcome read_result(const Request& request, std::span<const std::uint8_t> frame,
                    const protocol::Message& reply, Answer& answer);

// The result of the method parse, one MessagePack value.
Outcome read_parsed(std::string_view result, ParsedText& parsed);

Outcome read_hello(const protocol::Message& reply, HelloAnswer& answer);

}  // namespace seqd::engine

// Request: a request of the program, until it has its answer. Owned by a RequestTable; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace seqd::engine {

struct Request {
  enum class Method : std::uint8_t { next, next_text, range, peek, insert, call };
  // What few requests have.
  struct Body {
    std::string params;  // of call: one MessagePack array; of insert: the document
    std::string unique;  // of insert: a field that makes it safe to send it again; or empty
  };
  Method method = Method::next;
  bool synchronous = false;    // a call waits for it: its answer is not for seqd_poll
  bool sent_before = false;    // on a connection that ended
  std::string name;            // the sequence; for `call` the method
  std::int64_t count = 1;      // of range
  std::unique_ptr<Body> body;  // of call and insert
  void* tag = nullptr;
  std::int64_t deadline_ms = 0;          // by the monotonic clock
  std::int64_t connect_deadline_ms = 0;  // the same, while there is no connection

  std::string_view params() const { return body ? std::string_view(body->params) : ""; }
  std::string_view unique() const { return body ? std::string_view(body->unique) : ""; }
  // Gives memory back; that of the name is used again. What add() and add_next() assign stays.
  void clear() {
    name.clear();
    body.reset();
    sent_before = false;
  }
};

// What a `next` is made of besides its name; see Request.
struct NextRequest {
  void* tag = nullptr;
  std::int64_t deadline_ms = 0;
  std::int64_t connect_deadline_ms = 0;
  bool synchronous = false;
};

}  // namespace seqd::engine

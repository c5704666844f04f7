// HttpExchange: one connection of the HttpServer: one request, one reply, the end.
//
//   reading -> sending -> ending    the head is whole, or cannot be read; the reply is sent
//
// While ending, what the client still sends is read and dropped until it closes, or its time is
// over: to close at once could destroy the reply on its way. Owned by its HttpServer; loop thread.
#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/base/one_shot.h"
#include "daemon/base/state_machine.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/http/http_request.h"

namespace seqd {

// What a request is answered with.
struct HttpBody {
  std::string content_type;
  // Appends the next piece, which may be empty; false: nothing follows it. Called when the piece
  // before was taken, in another turn of the loop.
  std::function<bool(std::string&)> more;
};

class HttpExchange {
 public:
  enum class State : std::uint8_t { reading, sending, ending };
  struct Limits {
    std::int64_t head_ms = 5'000;    // until the head of the request is there
    std::int64_t reply_ms = 10'000;  // from then on until the client has taken the reply
    std::int64_t end_ms = 1'000;     // from then on until the client closes
  };
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual bool has_path(std::string_view path) const = 0;
    virtual HttpBody respond(const HttpRequestHead& head) = 0;
    // It is over and may be destroyed; the last call.
    virtual void ended(HttpExchange& exchange) = 0;
  };

  // Takes `fd`, a connected socket that does not block. Loop and owner outlive this.
  HttpExchange(EventLoop& loop, Owner& owner, int fd, const Limits& limits);
  // Closes the connection.
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

 private:
  static const StateTable<State> kMoves;

  void watch(int events);
  void ready(int status, int events);
  void read();
  void answer(HttpRequestParser::Found found);
  void begin_body(const HttpRequestHead& head);
  void send_error(const char* status, const char* allow = nullptr);
  bool fill();
  void send();
  void drop_input();

  Owner& owner_;
  const Limits limits_;
  const int fd_;
  uv_poll_t* const handle_;  // libuv frees it after this
  StateMachine<State> state_{kMoves, State::reading};
  HttpRequestParser parser_;
  HttpBody body_;        // of the reply; `more` is null where nothing follows `out_`
  bool chunks_ = false;  // the body is sent in chunks; else it ends with the connection
  std::string out_;      // the piece that is being sent
  std::size_t sent_ = 0;
  OneShot deadline_;
};

}  // namespace seqd

#include "daemon/uv/http/http_exchange.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::size_t kReadBytes = 4'096;

// The answer to a socket's call is for later, not an error.
bool is_later(int error) {
  return error == EAGAIN || error == EINTR;
}

}  // namespace

constexpr StateTable<HttpExchange::State> HttpExchange::kMoves = {
    {State::reading, "reading", {State::sending}},
    {State::sending, "sending", {State::ending}},
    {State::ending, "ending", {}},
};

HttpExchange::HttpExchange(EventLoop& loop, Owner& owner, int fd, const Limits& limits)
    : owner_(owner),
      limits_(limits),
      fd_(fd),
      handle_(std::make_unique<uv_poll_t>().release()),
      deadline_(loop) {
  ASSERT(fd >= 0 && uv_poll_init(loop.raw(), handle_, fd) == 0);
  handle_->data = this;
  watch(UV_READABLE);
  deadline_.start(limits_.head_ms, [this] { owner_.ended(*this); });
}

HttpExchange::~HttpExchange() {
  uv_close(reinterpret_cast<uv_handle_t*>(handle_), [](uv_handle_t* handle) {
    const std::unique_ptr<uv_poll_t> freed(reinterpret_cast<uv_poll_t*>(handle));
  });
  ::close(fd_);
}

void HttpExchange::watch(int events) {
  const auto ready = [](uv_poll_t* handle, int status, int found) {
    static_cast<HttpExchange*>(handle->data)->ready(status, found);
  };
  ASSERT(uv_poll_start(handle_, events, ready) == 0);
}

// One step: what follows is for another turn.
void HttpExchange::ready(int status, int events) {
  if (status != 0) return owner_.ended(*this);
  if (state_ == State::reading) return read();
  if (state_ == State::ending) return drop_input();
  if ((events & UV_WRITABLE) != 0) send();
}

void HttpExchange::read() {
  std::array<char, kReadBytes> bytes{};
  const ssize_t count = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && is_later(errno)) return;
  if (count <= 0) return owner_.ended(*this);
  const HttpRequestParser::Found found =
      parser_.take({bytes.data(), static_cast<std::size_t>(count)});
  if (found != HttpRequestParser::Found::part) answer(found);
}

void HttpExchange::answer(HttpRequestParser::Found found) {
  state_.move_to(State::sending);
  deadline_.start(limits_.reply_ms, [this] { owner_.ended(*this); });
  watch(UV_WRITABLE);
  if (found == HttpRequestParser::Found::too_large)
    return send_error("431 Request Header Fields Too Large");
  if (found == HttpRequestParser::Found::bad) return send_error("400 Bad Request");
  const HttpRequestHead& head = parser_.head();
  const std::string_view target = head.target;
  if (!owner_.has_path(target.substr(0, target.find('?')))) return send_error("404 Not Found");
  if (head.method != "GET" && head.method != "HEAD")
    return send_error("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  begin_body(head);
}

void HttpExchange::begin_body(const HttpRequestHead& head) {
  body_ = owner_.respond(head);
  chunks_ = head.chunks;
  out_ = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n{}\r\n",
      body_.content_type, chunks_ ? "Transfer-Encoding: chunked\r\n" : "");
  if (head.method == "HEAD") body_.more = nullptr;
}

void HttpExchange::send_error(const char* status, const char* allow) {
  out_ = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n{}\r\n{}\n",
      status, std::string_view(status).size() + 1, allow == nullptr ? "" : allow, status);
}

// The next piece, when the last one is sent. False: there is none.
bool HttpExchange::fill() {
  if (!body_.more) return false;
  std::string piece;
  const bool more = body_.more(piece);
  out_.clear();
  sent_ = 0;
  if (chunks_) {
    if (!piece.empty()) out_ = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    if (!more) out_ += "0\r\n\r\n";
  } else {
    out_ = std::move(piece);
  }
  if (!more) body_.more = nullptr;
  return true;
}

void HttpExchange::send() {
  if (sent_ < out_.size() || fill()) {
    const ssize_t count = ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0) {
      if (!is_later(errno)) owner_.ended(*this);
      return;
    }
    sent_ += static_cast<std::size_t>(count);
    return;
  }
  state_.move_to(State::ending);
  ::shutdown(fd_, SHUT_WR);
  deadline_.start(limits_.end_ms, [this] { owner_.ended(*this); });
  watch(UV_READABLE);
}

void HttpExchange::drop_input() {
  std::array<char, kReadBytes> bytes{};
  const ssize_t count = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && is_later(errno)) return;
  if (count <= 0) owner_.ended(*this);
}

}  // namespace seqd

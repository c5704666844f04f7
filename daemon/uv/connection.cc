#include "daemon/uv/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

Connection& of(void* data) {
  return *static_cast<Connection*>(data);
}

std::span<const std::uint8_t> as_bytes(const char* bytes, std::size_t count) {
  return {reinterpret_cast<const std::uint8_t*>(bytes), count};
}

}  // namespace

void Connection::start(uv_loop_t* loop, int socket, const Peer& peer) {
  ASSERT(session_ == nullptr && !closing_);
  ASSERT(uv_pipe_init(loop, &pipe_, 0) == 0);
  pipe_.data = this;
  write_.data = this;
  peer_ = peer;
  if (uv_pipe_open(&pipe_, socket) != 0) {
    ::close(socket);
    return close();
  }
  session_ = &server_.open(peer, *this);
  active_ms_ = static_cast<std::int64_t>(uv_now(pipe_.loop));
  set_reading(true);
}

void Connection::set_reading(bool reading) {
  if (reading == reading_ || closing_) return;
  reading_ = reading;
  watch_peer(!reading);
  if (!reading) {
    uv_read_stop(stream());
    return;
  }
  const auto memory = [](uv_handle_t* handle, std::size_t, uv_buf_t* out) {
    const std::span<char> free = of(handle->data).owner_.read_memory();
    *out = uv_buf_init(free.data(), static_cast<unsigned>(free.size()));
  };
  const auto read = [](uv_stream_t* from, ssize_t count, const uv_buf_t* bytes) {
    of(from->data).on_read(count, bytes->base);
  };
  if (uv_read_start(stream(), memory, read) != 0) close();
}

// A reader notices the end by its reads.
void Connection::watch_peer(bool watch) {
  if (watch == watched_) return;
  watched_ = watch;
  int fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(&pipe_), &fd) != 0) return;
  owner_.watch_peer(*this, fd, watch);
}

void Connection::on_read(std::ptrdiff_t count, const char* bytes) {
  if (count == 0 || closing_) return;
  if (count == UV_EOF) return on_end_of_input();
  if (count < 0) return close();
  active_ms_ = static_cast<std::int64_t>(uv_now(pipe_.loop));
  take_in(as_bytes(bytes, static_cast<std::size_t>(count)));
}

bool Connection::take_arrived() {
  if (!reading_ || closing_) return false;
  int fd = -1;
  uv_fileno(reinterpret_cast<uv_handle_t*>(&pipe_), &fd);
  const std::span<char> free = owner_.read_memory();
  const ssize_t count = recv(fd, free.data(), free.size(), MSG_DONTWAIT);
  if (count <= 0) return false;
  on_read(count, free.data());
  return true;
}

// Gives the session what lies in in_ and then `bytes`, and keeps what it does not take.
void Connection::take_in(std::span<const std::uint8_t> bytes) {
  ASSERT(session_ != nullptr && !closing_);
  std::size_t taken = 0;
  if (in_.empty()) {
    taken = server_.receive(*session_, bytes);
    ASSERT(taken <= bytes.size());
    const std::span<const std::uint8_t> rest = bytes.subspan(taken);
    in_.write(reinterpret_cast<const char*>(rest.data()), rest.size());
  } else {
    in_.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    taken = server_.receive(*session_, in_.bytes());
    ASSERT(taken <= in_.size());
    in_.consume(taken);
  }
  if (taken > 0) owner_.had_request(*this);
  if (session_->closing) return set_reading(false);
  if (session_->paused) {
    partial_ms_ = -1;
    set_reading(false);
    attend();
  } else if (in_.empty()) {
    partial_ms_ = -1;
  } else if (taken > 0 || partial_ms_ < 0) {
    partial_ms_ = static_cast<std::int64_t>(uv_now(pipe_.loop));
    owner_.due_sooner(*this);
  }
}

void Connection::resume() {
  if (!may_resume()) return;
  take_in({});
  if (!session_->paused && !session_->closing && !input_ended_) set_reading(true);
}

// The client may have closed, or only ended its side to say that no request follows.
void Connection::on_end_of_input() {
  input_ended_ = true;
  set_reading(false);
  int fd = -1;
  uv_fileno(reinterpret_cast<uv_handle_t*>(&pipe_), &fd);
  pollfd state{fd, POLLOUT, 0};
  if (poll(&state, 1, 0) < 0 || (state.revents & (POLLHUP | POLLERR)) != 0) return close();
  attend();
}

void Connection::attend() {
  if (attended_ || closing_) return;
  attended_ = true;
  owner_.attended(*this);
}

void Connection::send_replies() {
  ASSERT(attended_);
  attended_ = false;
  if (closing_) return;
  send();
  if (closing_) return;
  server_.sent(*session_);
  if (session_->unsent() > 0) return;
  // What is under way when the daemon stops still gets its answer.
  if (draining_ && session_->waiting > 0) return;
  const bool answered = session_->waiting == 0 && !session_->paused;
  if (session_->closing || (input_ended_ && answered)) close();
}

void Connection::send() {
  ASSERT(session_ != nullptr && session_->sending == sending_.size());
  protocol::Buffer& out = session_->out;
  if (!sending_.empty() || out.empty()) return;
  uv_buf_t bytes = uv_buf_init(const_cast<char*>(out.data()), static_cast<unsigned>(out.size()));
  const int sent = uv_try_write(stream(), &bytes, 1);
  if (sent < 0 && sent != UV_EAGAIN) return close();
  if (sent > 0) {
    active_ms_ = static_cast<std::int64_t>(uv_now(pipe_.loop));
    out.consume(static_cast<std::size_t>(sent));
  }
  if (out.empty()) return;
  sending_.swap(out);
  session_->sending = sending_.size();
  bytes = uv_buf_init(const_cast<char*>(sending_.data()), static_cast<unsigned>(sending_.size()));
  const auto written = [](uv_write_t* write, int status) { of(write->data).on_written(status); };
  if (uv_write(&write_, stream(), &bytes, 1, written) != 0) close();
}

void Connection::on_written(int status) {
  ASSERT(!sending_.empty());
  sending_.clear();
  if (closing_) return;
  session_->sending = 0;
  if (status != 0) return close();
  active_ms_ = static_cast<std::int64_t>(uv_now(pipe_.loop));
  attend();
}

void Connection::drain() {
  if (closing_ || session_ == nullptr || session_->closing) return;
  draining_ = true;
  session_->closing = true;
  set_reading(false);
  attend();
}

void Connection::abort() {
  close();
}

Connection::Due Connection::due(std::int64_t now_ms, const TimeLimits& limits) const {
  Due first;
  const auto limit = [&first](std::int64_t since_ms, std::int64_t limit_ms, const char* why) {
    if (limit_ms > 0 && since_ms + limit_ms < first.at_ms) first = {since_ms + limit_ms, why};
  };
  if (closing_ || session_ == nullptr) return first;
  if (partial_ms_ >= 0) {
    limit(partial_ms_, limits.frame_ms,
          "a request was incomplete for too long (limits.frame_timeout)");
  }
  // A connection that waits for a reply is not idle.
  limit(session_->waiting == 0 ? active_ms_ : now_ms, limits.idle_ms,
        "the connection was idle for too long (limits.idle_timeout)");
  return first;
}

// In two steps: the session ends now, the memory when libuv is done with the handle.
void Connection::close() {
  if (closing_) return;
  watch_peer(false);
  closing_ = true;
  if (session_ != nullptr) server_.close(*std::exchange(session_, nullptr));
  uv_close(reinterpret_cast<uv_handle_t*>(&pipe_), [](uv_handle_t* handle) {
    Connection& connection = of(handle->data);
    connection.owner_.ended(connection);
  });
}

}  // namespace seqd

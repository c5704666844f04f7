// libseqd for C++: a thin layer over seqd.h that closes by itself. Header only, C++17, throws
// nothing of its own. The daemon's IDs are int64_t, 1 .. 2^63-1. Rules for threads, fork() and
// time-outs: see seqd.h.
//
//   seqd::client::Client client;
//   if (auto id = client.next("orders")) use(*id);
//   else complain(id.error().text);
#ifndef SEQD_HPP
#define SEQD_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "seqd.h"

namespace seqd {
namespace client {

struct Error {
  int code = SEQD_OK;
  std::string text;

  const char* name() const { return seqd_error_name(code); }
  // The same call may succeed later with nothing changed.
  bool is_transient() const { return seqd_error_is_transient(code) != 0; }
};

// A T, or the error that kept it from being one.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return ok(); }
  bool ok() const { return error_.code == SEQD_OK; }
  // Of a result that is not ok(): a T() of its own.
  const T& value() const& { return value_; }
  T value() && { return std::move(value_); }
  const T& operator*() const& { return value_; }
  T operator*() && { return std::move(value_); }
  const T* operator->() const { return &value_; }
  const Error& error() const { return error_; }

 private:
  T value_ = T();
  Error error_;
};

struct Options {
  std::string socket_path;                       // empty: $SEQD_SOCKET, then /run/seqd.sock
  std::string name;                              // the application's, for the daemon's lists
  std::chrono::milliseconds timeout{0};          // 0: 5 seconds
  std::chrono::milliseconds connect_timeout{0};  // 0: timeout
  std::uint64_t flags = 0;                       // SEQD_ANONYMOUS, SEQD_DAEMON_WAIT
};

struct Peek {
  std::int64_t next = 0;  // 0: not known
  std::int64_t in_hand = 0;
  std::int64_t last = 0;  // 0: none yet
};

struct Parsed {
  std::int64_t number = 0;
  std::string period;  // "2026-11-21", as far as the text says
  std::string check;   // which check digits were found right, "luhn"; empty: it has none
};

struct Reply {
  void* tag = nullptr;
  Error error;
  std::int64_t id = 0;         // the first
  std::vector<seqd_run> runs;  // all
  std::string text;            // of submit_next_text
};

class Client {
 public:
  // Does not connect yet. When the options are not allowed, every call gives the error.
  Client() : Client(Options()) {}
  explicit Client(const Options& options) {
    seqd_options given = SEQD_OPTIONS_INIT;
    given.socket_path = options.socket_path.empty() ? nullptr : options.socket_path.c_str();
    given.name = options.name.c_str();
    given.timeout_ms = options.timeout.count();
    given.connect_timeout_ms = options.connect_timeout.count();
    given.flags = options.flags;
    opened_ = seqd_open(&given, &handle_);
  }
  ~Client() { seqd_close(handle_); }
  Client(Client&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), opened_(other.opened_) {}
  Client& operator=(Client&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(opened_, other.opened_);
    return *this;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<std::int64_t> next(const std::string& sequence) {
    std::int64_t id = 0;
    const int code = seqd_next(handle_, sequence.c_str(), &id);
    return result(code, id);
  }
  Result<std::string> next_text(const std::string& sequence) {
    const char* text = nullptr;
    const int code = seqd_next_text(handle_, sequence.c_str(), &text);
    return result(code, std::string(text == nullptr ? "" : text));
  }
  Result<Parsed> parse(const std::string& sequence, const std::string& text) {
    seqd_parsed parsed = SEQD_PARSED_INIT;
    const int code = seqd_parse(handle_, sequence.c_str(), text.c_str(), &parsed);
    return result(code, Parsed{parsed.number, parsed.period, parsed.check});
  }
  // A document, one MessagePack map as bytes; its _id. See seqd_insert() for OUTCOME_UNKNOWN.
  Result<std::int64_t> insert(const std::string& name, const std::string& bytes) {
    std::int64_t id = 0;
    const int code = seqd_insert(handle_, name.c_str(), bytes.data(), bytes.size(), &id);
    return result(code, id);
  }
  // `count` IDs, one by one.
  Result<std::vector<std::int64_t>> next_many(const std::string& sequence, std::size_t count) {
    std::vector<std::int64_t> ids(count);
    const int code = seqd_next_many(handle_, sequence.c_str(), count, ids.data());
    return result(code, std::move(ids));
  }
  // `count` IDs as runs.
  Result<std::vector<seqd_run>> range(const std::string& sequence, std::int64_t count) {
    const seqd_run* runs = nullptr;
    std::size_t used = 0;
    const int code = seqd_range(handle_, sequence.c_str(), count, &runs, &used);
    return result(code, std::vector<seqd_run>(runs, runs + used));
  }
  Result<Peek> peek(const std::string& sequence) {
    Peek peeked;
    const int code =
        seqd_peek(handle_, sequence.c_str(), &peeked.next, &peeked.in_hand, &peeked.last);
    return result(code, peeked);
  }
  Result<bool> ping() { return result(seqd_ping(handle_), true); }

  // Pipelining: submit many, then poll for their answers; see seqd.h.
  Error submit_next(const std::string& sequence, void* tag) {
    return error_of(seqd_submit_next(handle_, sequence.c_str(), tag));
  }
  Error submit_next_text(const std::string& sequence, void* tag) {
    return error_of(seqd_submit_next_text(handle_, sequence.c_str(), tag));
  }
  Error submit_range(const std::string& sequence, std::int64_t count, void* tag) {
    return error_of(seqd_submit_range(handle_, sequence.c_str(), count, tag));
  }
  Error submit_insert(const std::string& name, const std::string& bytes, void* tag) {
    return error_of(seqd_submit_insert(handle_, name.c_str(), bytes.data(), bytes.size(), tag));
  }
  Result<std::vector<Reply>> poll(std::chrono::milliseconds timeout, std::size_t most = 256) {
    std::vector<seqd_reply> raw(most);
    std::size_t used = 0;
    const int code = seqd_poll(handle_, timeout.count(), raw.data(), raw.size(), &used);
    std::vector<Reply> replies;
    replies.reserve(used);
    for (std::size_t i = 0; i < used; ++i) {
      const seqd_reply& each = raw[i];
      const bool good = each.code == SEQD_OK;
      replies.push_back({each.tag, good ? Error() : Error{each.code, each.text}, each.id,
                         std::vector<seqd_run>(each.runs, each.runs + each.run_count),
                         good ? each.text : ""});
    }
    return result(code, std::move(replies));
  }
  std::size_t pending() const { return seqd_pending(handle_); }

  // For what this class has no words for; null when opening failed.
  seqd_client* handle() { return handle_; }

 private:
  // Without a handle the calls say SEQD_E_ARGUMENT; the reason is what seqd_open said.
  Error error_of(int code) const {
    if (code == SEQD_OK) return {};
    if (handle_ == nullptr) return {opened_, "the options of seqd::client::Client are not allowed"};
    return {code, seqd_last_error(handle_)};
  }
  template <typename T>
  Result<T> result(int code, T value) const {
    if (code != SEQD_OK) return error_of(code);
    return value;
  }

  seqd_client* handle_ = nullptr;
  int opened_ = SEQD_E_ARGUMENT;
};

}  // namespace client
}  // namespace seqd

#endif

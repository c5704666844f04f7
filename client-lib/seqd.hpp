// libseqd for C++: a thin layer over seqd.h that closes its handle. Header only, C++17, throws
// nothing of its own. Rules for threads, fork() and time-outs: see seqd.h.
//
//   seqd::client::Client client;
//   if (auto id = client.next("orders")) use(*id);
//   else complain(id.error().text);  // *id would abort: see seqd_result.hpp
#ifndef SEQD_HPP
#define SEQD_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "seqd.h"
#include "seqd_result.hpp"

namespace seqd {
namespace client {

struct Options {
  std::string socket_path;                       // empty: $SEQD_SOCKET, then /run/seqd.sock
  std::string name;                              // of the application, in the daemon's lists
  std::chrono::milliseconds timeout{0};          // 0: 5 seconds
  std::chrono::milliseconds connect_timeout{0};  // 0: timeout
  std::uint64_t flags = 0;                       // SEQD_ANONYMOUS, SEQD_DAEMON_WAIT
  std::chrono::microseconds busy_poll{0};        // see seqd_options
};

// The reply to one submitted request. Check `error` first: reading what the reply does not have
// aborts, as with a Result.
class Reply {
 public:
  explicit Reply(const seqd_reply& raw)
      : tag(raw.tag), runs_(raw.runs, raw.runs + raw.run_count), text_(raw.text) {
    if (raw.code != SEQD_OK) error = {raw.code, std::exchange(text_, std::string())};
  }

  void* tag;
  Error error;

  bool ok() const { return error.code == SEQD_OK; }
  // The first ID; of a submit_range the others are in runs().
  std::int64_t id() const { return runs().front().first; }
  const std::vector<seqd_run>& runs() const {
    if (runs_.empty()) abort_without("an ID of a reply", error);
    return runs_;
  }
  // Of submit_next_text.
  const std::string& text() const {
    if (text_.empty()) abort_without("the text of a reply", error);
    return text_;
  }

 private:
  std::vector<seqd_run> runs_;
  std::string text_;
};

// Every call of a client that was moved from returns SEQD_E_ARGUMENT.
class Client {
 public:
  // Does not connect yet. If the options are invalid, every call returns the error.
  Client() : Client(Options()) {}
  explicit Client(const Options& options) {
    seqd_options given = SEQD_OPTIONS_INIT;
    given.socket_path = options.socket_path.empty() ? nullptr : options.socket_path.c_str();
    given.name = options.name.c_str();
    given.timeout_ms = options.timeout.count();
    given.connect_timeout_ms = options.connect_timeout.count();
    given.flags = options.flags;
    given.busy_poll_us = options.busy_poll.count();
    (void)seqd_open(&given, &handle_);
  }
  ~Client() { seqd_close(handle_); }
  Client(Client&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        was_moved_from_(std::exchange(other.was_moved_from_, true)) {}
  Client& operator=(Client&& other) noexcept {
    Client taken(std::move(other));
    std::swap(handle_, taken.handle_);
    std::swap(was_moved_from_, taken.was_moved_from_);
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
  // The same of a document with a unique field; see seqd_insert_unique().
  Result<std::int64_t> insert_unique(const std::string& name, const std::string& bytes,
                                     const std::string& field) {
    std::int64_t id = 0;
    const int code =
        seqd_insert_unique(handle_, name.c_str(), bytes.data(), bytes.size(), field.c_str(), &id);
    return result(code, id);
  }
  // `count` IDs, one by one.
  Result<std::vector<std::int64_t>> next_many(const std::string& sequence, std::size_t count) {
    const auto runs = range(sequence, count > INT64_MAX ? 0 : static_cast<std::int64_t>(count));
    if (!runs) return runs.error();
    std::vector<std::int64_t> ids;
    for (const seqd_run& run : *runs)
      for (std::int64_t i = 0; i < run.count; ++i) ids.push_back(run.first + i * run.step);
    return ids;
  }
  Result<std::vector<seqd_run>> range(const std::string& sequence, std::int64_t count) {
    const seqd_run* runs = nullptr;
    std::size_t used = 0;
    const int code = seqd_range(handle_, sequence.c_str(), count, &runs, &used);
    return result(code, std::vector<seqd_run>(runs, runs + used));
  }
  Result<Peek> peek(const std::string& sequence) {
    seqd_peeked raw = SEQD_PEEKED_INIT;
    const int code = seqd_peek(handle_, sequence.c_str(), &raw);
    Peek peeked;
    if (raw.next_known != 0) peeked.next = raw.next;
    peeked.available = raw.available;
    if (raw.last_known != 0) peeked.last = raw.last;
    return result(code, peeked);
  }
  Result<bool> ping() { return result(seqd_ping(handle_), true); }

  // Pipelining: submit many, then poll for their replies; see seqd.h.
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
    std::vector<seqd_reply> raw(most <= pending() ? most : pending() + 1);
    std::size_t used = 0;
    const int code =
        seqd_poll(handle_, timeout.count(), raw.data(), sizeof(seqd_reply), raw.size(), &used);
    std::vector<Reply> replies;
    replies.reserve(used);
    for (std::size_t i = 0; i < used; ++i) replies.emplace_back(raw[i]);
    return result(code, std::move(replies));
  }
  std::size_t pending() const { return seqd_pending(handle_); }

  Result<seqd_watch> watch() {
    seqd_watch found = SEQD_WATCH_INIT;
    const int code = seqd_descriptor(handle_, &found);
    return result(code, found);
  }

  // For the functions of seqd.h that this class does not have; null if it was moved from.
  seqd_client* handle() { return handle_; }

 private:
  Error error_of(int code) const {
    if (code == SEQD_OK) return {};
    if (handle_ != nullptr) return {code, seqd_last_error(handle_)};
    if (was_moved_from_) return {code, "this seqd::client::Client was moved from"};
    return {SEQD_E_MEMORY, "out of memory"};
  }
  template <typename T>
  Result<T> result(int code, T value) const {
    if (code != SEQD_OK) return error_of(code);
    return value;
  }

  seqd_client* handle_ = nullptr;
  bool was_moved_from_ = false;
};

}  // namespace client
}  // namespace seqd

#endif

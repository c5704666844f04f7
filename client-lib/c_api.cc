// The C ABI of libseqd: arguments are checked here, and no exception leaves. Everything else is in
// client.h.
#include <poll.h>
#include <algorithm>

#include <climits>
#include <cstring>
#include <new>
#include <span>

#include "client-lib/client.h"
#include "protocol/limits.h"
#include "protocol/value_reader.h"
#include "protocol/value_writer.h"

#ifndef SEQD_VERSION
#error "SEQD_VERSION comes from the Makefile"
#endif

using seqd::engine::Answer;
using seqd::engine::Outcome;
using seqd::engine::Request;
using seqd::protocol::ValueReader;

struct seqd_client {
  std::unique_ptr<seqd::engine::Client> engine;
  Outcome error;                    // the last one
  Answer answer;                    // of the last seqd_range, seqd_next_text or seqd_call
  seqd::engine::ParsedText parsed;  // of the last seqd_parse
};

namespace {

// Above every text that a daemon can have made.
constexpr std::size_t kLongestText = 1'024;

// "[]"
constexpr std::string_view kEmptyArray("\x90", 1);

int fail(seqd_client* client, Outcome outcome) {
  const int code = outcome.code;
  if (code != SEQD_OK) client->error = std::move(outcome);
  return code;
}

// Runs `body`, which gives an Outcome, for a handle that may be used here.
template <typename Body>
int guarded(seqd_client* client, Body body) {
  if (client == nullptr) return SEQD_E_ARGUMENT;
  try {
    if (client->engine->is_forked()) {
      return fail(client, {SEQD_E_FORKED,
                           "this handle belongs to the parent process: open one after fork()"});
    }
    return fail(client, body(*client->engine));
  } catch (...) {
    // Only memory can run out; the texts here are short enough to need none.
    client->error.code = SEQD_E_MEMORY;
    client->error.text.clear();
    client->engine->recover();
    return SEQD_E_MEMORY;
  }
}

Outcome argument(const char* text) {
  return {SEQD_E_ARGUMENT, text};
}

// Only what no daemon can accept; the alphabet is the daemon's to judge.
Outcome check_name(const char* name) {
  constexpr auto kLongest = static_cast<std::size_t>(seqd::protocol::kNameLimit.max);
  if (name == nullptr || *name == '\0') return argument("the sequence's name is empty");
  if (::strnlen(name, kLongest + 1) > kLongest)
    return argument("the sequence's name is longer than 128 bytes");
  return {};
}

Outcome make_next(const char* name, Request& request) {
  Outcome outcome = check_name(name);
  if (outcome.ok()) request.name = name;
  return outcome;
}

Outcome make_range(const char* name, std::int64_t count, Request& request) {
  if (!seqd::protocol::kCountLimit.allows(count))
    return argument("the count is not within 1 .. 10,000,000");
  request.method = Request::Method::range;
  request.count = count;
  return make_next(name, request);
}

Outcome call_range(seqd::engine::Client& engine, const char* name, std::int64_t count,
                   Answer& answer) {
  Request request;
  Outcome outcome = make_range(name, count, request);
  return outcome.ok() ? engine.call(std::move(request), answer) : outcome;
}

Outcome call_method(seqd::engine::Client& engine, std::string_view method, std::string_view params,
                    Answer& answer) {
  Request request;
  request.method = Request::Method::call;
  request.name = method;
  request.params = params;
  return engine.call(std::move(request), answer);
}

// Whether the bytes are exactly one value of that kind.
bool is_one(std::string_view bytes, seqd::protocol::ValueKind kind) {
  const std::span<const std::uint8_t> span(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                           bytes.size());
  seqd::protocol::FrameScanner scanner(seqd::protocol::kReplyLimits);
  const seqd::protocol::ScanResult scan = scanner.scan(span);
  return scan.kind == seqd::protocol::ScanResult::Kind::complete && scan.size == bytes.size() &&
         ValueReader(span).kind() == kind;
}

Outcome make_insert(const char* name, const void* document, std::size_t length, Request& request) {
  const std::string_view bytes(static_cast<const char*>(document),
                               document == nullptr ? 0 : length);
  if (!is_one(bytes, seqd::protocol::ValueKind::map))
    return argument("the document is not exactly one MessagePack map");
  request.method = Request::Method::insert;
  request.params = bytes;
  return make_next(name, request);
}

seqd_reply reply_of(const Answer& answer) {
  seqd_reply reply = {};
  reply.tag = answer.tag;
  reply.code = answer.outcome.code;
  reply.text = (answer.outcome.ok() ? answer.result : answer.outcome.text).c_str();
  reply.runs = answer.runs().data();
  reply.run_count = answer.runs().size();
  reply.id = reply.run_count == 0 ? 0 : reply.runs[0].first;
  return reply;
}

}  // namespace

int seqd_open(const seqd_options* options, seqd_client** client) {
  if (client == nullptr) return SEQD_E_ARGUMENT;
  *client = nullptr;
  try {
    seqd::engine::ClientOptions read;
    Outcome outcome = seqd::engine::read_options(options, read);
    if (!outcome.ok()) return outcome.code;
    auto made = std::make_unique<seqd_client>();
    outcome = seqd::engine::Client::open(read, made->engine);
    if (!outcome.ok()) return outcome.code;
    *client = made.release();
    return SEQD_OK;
  } catch (...) {
    return SEQD_E_MEMORY;
  }
}

void seqd_close(seqd_client* client) {
  delete client;
}

int seqd_next(seqd_client* client, const char* name, int64_t* id) {
  return guarded(client, [&](auto& engine) {
    if (id == nullptr) return argument("id is NULL");
    Request request;
    Outcome outcome = make_next(name, request);
    if (!outcome.ok()) return outcome;
    Answer answer;
    outcome = engine.call(std::move(request), answer);
    if (outcome.ok()) *id = answer.first.first;
    return outcome;
  });
}

int seqd_next_text(seqd_client* client, const char* name, const char** text) {
  return guarded(client, [&](auto& engine) {
    if (text == nullptr) return argument("text is NULL");
    *text = nullptr;
    Request request;
    Outcome outcome = make_next(name, request);
    if (!outcome.ok()) return outcome;
    request.method = Request::Method::next_text;
    outcome = engine.call(std::move(request), client->answer);
    if (outcome.ok()) *text = client->answer.result.c_str();
    return outcome;
  });
}

int seqd_parse(seqd_client* client, const char* name, const char* text, seqd_parsed* parsed) {
  return guarded(client, [&](auto& engine) {
    if (text == nullptr || parsed == nullptr || parsed->size < sizeof(seqd_parsed))
      return argument("text or parsed is NULL, or the size in it is not sizeof(seqd_parsed)");
    if (::strnlen(text, kLongestText + 1) > kLongestText)
      return argument("the text is longer than 1024 bytes");
    Outcome outcome = check_name(name);
    if (!outcome.ok()) return outcome;
    seqd::protocol::Buffer params;
    seqd::protocol::append_array(params, 2);
    seqd::protocol::append_text(params, name);
    seqd::protocol::append_text(params, text);
    Answer answer;
    outcome = call_method(engine, "parse", {params.data(), params.size()}, answer);
    if (outcome.ok()) outcome = seqd::engine::read_parsed(answer.result, client->parsed);
    if (!outcome.ok()) return outcome;
    parsed->number = client->parsed.number;
    parsed->period = client->parsed.period.c_str();
    parsed->check = client->parsed.check.c_str();
    return outcome;
  });
}

int seqd_range(seqd_client* client, const char* name, int64_t count, const seqd_run** runs,
               size_t* run_count) {
  return guarded(client, [&](auto& engine) {
    if (runs == nullptr || run_count == nullptr) return argument("runs or run_count is NULL");
    *runs = nullptr;
    *run_count = 0;
    Outcome outcome = call_range(engine, name, count, client->answer);
    if (!outcome.ok()) return outcome;
    *runs = client->answer.runs().data();
    *run_count = client->answer.runs().size();
    return outcome;
  });
}

int seqd_next_many(seqd_client* client, const char* name, size_t count, int64_t* ids) {
  return guarded(client, [&](auto& engine) {
    if (ids == nullptr) return argument("ids is NULL");
    if (count > static_cast<std::size_t>(seqd::protocol::kCountLimit.max))
      return argument("the count is not within 1 .. 10,000,000");
    Answer answer;
    Outcome outcome = call_range(engine, name, static_cast<std::int64_t>(count), answer);
    if (!outcome.ok()) return outcome;
    for (const seqd_run& run : answer.runs()) {
      for (std::int64_t i = 0; i < run.count; ++i) *ids++ = run.first + i * run.step;
    }
    return outcome;
  });
}

int seqd_peek(seqd_client* client, const char* name, int64_t* next, int64_t* in_hand,
              int64_t* last) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_next(name, request);
    if (!outcome.ok()) return outcome;
    request.method = Request::Method::peek;
    Answer answer;
    outcome = engine.call(std::move(request), answer);
    if (!outcome.ok()) return outcome;
    if (next != nullptr) *next = answer.peeked_next;
    if (in_hand != nullptr) *in_hand = answer.peeked_in_hand;
    if (last != nullptr) *last = answer.peeked_last;
    return outcome;
  });
}

int seqd_insert(seqd_client* client, const char* name, const void* document, size_t document_length,
                int64_t* id) {
  return guarded(client, [&](auto& engine) {
    if (id == nullptr) return argument("id is NULL");
    Request request;
    Outcome outcome = make_insert(name, document, document_length, request);
    if (!outcome.ok()) return outcome;
    Answer answer;
    outcome = engine.call(std::move(request), answer);
    if (outcome.ok()) *id = answer.first.first;
    return outcome;
  });
}

int seqd_ping(seqd_client* client) {
  return guarded(client, [&](auto& engine) {
    Answer answer;
    return call_method(engine, "ping", kEmptyArray, answer);
  });
}

int seqd_call(seqd_client* client, const char* method, const void* params, size_t params_length,
              const void** result, size_t* result_length) {
  return guarded(client, [&](auto& engine) {
    if (result == nullptr || result_length == nullptr)
      return argument("result or result_length is NULL");
    *result = nullptr;
    *result_length = 0;
    const std::string_view name = method == nullptr ? std::string_view() : method;
    if (name.empty() || name.size() > 64 || name == "hello" || name == "ack" || name == "insert")
      return argument("the method is empty, too long, or one that belongs to the library");
    const std::string_view given =
        params == nullptr ? kEmptyArray
                          : std::string_view(static_cast<const char*>(params), params_length);
    if (!is_one(given, seqd::protocol::ValueKind::array))
      return argument("params is not exactly one MessagePack array");
    Outcome outcome = call_method(engine, name, given, client->answer);
    if (!outcome.ok()) return outcome;
    *result = client->answer.result.data();
    *result_length = client->answer.result.size();
    return outcome;
  });
}

int seqd_limit(seqd_client* client, const char* name, int64_t* value) {
  return guarded(client, [&](auto& engine) {
    if (name == nullptr || value == nullptr) return argument("name or value is NULL");
    if (engine.daemon().limits.empty()) {
      Answer answer;
      Outcome outcome = call_method(engine, "ping", kEmptyArray, answer);
      if (!outcome.ok()) return outcome;
    }
    const auto found = engine.daemon().limits.find(std::string_view(name));
    if (found == engine.daemon().limits.end()) return argument("the daemon names no such limit");
    *value = found->second;
    return Outcome();
  });
}

int seqd_submit_next(seqd_client* client, const char* name, void* tag) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_next(name, request);
    request.tag = tag;
    return outcome.ok() ? engine.submit(std::move(request)) : outcome;
  });
}

int seqd_submit_next_text(seqd_client* client, const char* name, void* tag) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_next(name, request);
    request.method = Request::Method::next_text;
    request.tag = tag;
    return outcome.ok() ? engine.submit(std::move(request)) : outcome;
  });
}

int seqd_submit_range(seqd_client* client, const char* name, int64_t count, void* tag) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_range(name, count, request);
    request.tag = tag;
    return outcome.ok() ? engine.submit(std::move(request)) : outcome;
  });
}

int seqd_submit_insert(seqd_client* client, const char* name, const void* document,
                       size_t document_length, void* tag) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_insert(name, document, document_length, request);
    request.tag = tag;
    return outcome.ok() ? engine.submit(std::move(request)) : outcome;
  });
}

int seqd_poll(seqd_client* client, int64_t timeout_ms, seqd_reply* replies, size_t capacity,
              size_t* used) {
  return guarded(client, [&](auto& engine) {
    if (used == nullptr || (replies == nullptr && capacity > 0))
      return argument("replies or used is NULL");
    *used = 0;
    if (timeout_ms < 0 || timeout_ms > INT_MAX)
      return argument("timeout_ms is not within 0 .. 2^31-1");
    engine.poll(timeout_ms, capacity);
    for (const Answer& answer : engine.delivered()) replies[(*used)++] = reply_of(answer);
    return Outcome();
  });
}

size_t seqd_pending(const seqd_client* client) {
  return client == nullptr ? 0 : client->engine->pending();
}

int seqd_descriptor(seqd_client* client, int* descriptor, short* events, int* timeout_ms) {
  return guarded(client, [&](auto& engine) {
    if (descriptor == nullptr || events == nullptr || timeout_ms == nullptr)
      return argument("descriptor, events or timeout_ms is NULL");
    const bool writes = engine.wants_to_write();
    *descriptor = engine.descriptor();
    *events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
    *timeout_ms = static_cast<int>(std::min<std::int64_t>(engine.idle_ms(), INT_MAX));
    return Outcome();
  });
}

const char* seqd_last_error(const seqd_client* client) {
  return client == nullptr ? "" : client->error.text.c_str();
}

const char* seqd_error_name(int code) {
  return seqd::engine::code_name(code);
}

int seqd_error_is_transient(int code) {
  return seqd::engine::is_transient(code) ? 1 : 0;
}

const char* seqd_version(void) {
  return SEQD_VERSION;
}

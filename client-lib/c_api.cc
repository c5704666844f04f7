// The C ABI of libseqd: arguments are checked here, and no exception leaves. Everything else is in
// client.h; pipelines are in c_pipeline.cc.
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "client-lib/c_handle.h"
#include "protocol/limits.h"
#include "protocol/values/value_reader.h"
#include "protocol/values/value_writer.h"
#include "protocol/version.h"

using namespace seqd::engine;

namespace {

// Above every text that a daemon can have made.
constexpr std::size_t kLongestText = 1'024;

// "[]"
constexpr std::string_view kEmptyArray("\x90", 1);

Outcome call_range(Client& engine, const char* name, std::int64_t count, Answer& answer) {
  Request request;
  Outcome outcome = make_range(name, count, request);
  return outcome.ok() ? engine.call(std::move(request), answer) : outcome;
}

Outcome call_method(Client& engine, std::string_view method, std::string_view params,
                    Answer& answer) {
  Request request;
  request.method = Request::Method::call;
  request.name = method;
  request.body = std::make_unique<Request::Body>();
  request.body->params = params;
  return engine.call(std::move(request), answer);
}

}  // namespace

int seqd_open(const seqd_options* options, seqd_client** client) {
  if (client == nullptr) return SEQD_E_ARGUMENT;
  *client = nullptr;
  const NoCancellation whole;
  try {
    auto made = std::make_unique<seqd_client>();
    ClientOptions read;
    Outcome outcome = read_options(options, read);
    if (outcome.ok()) outcome = Client::open(read, made->engine);
    const int code = fail(made.get(), std::move(outcome));
    *client = made.release();
    return code;
  } catch (...) {
    return SEQD_E_MEMORY;
  }
}

void seqd_close(seqd_client* client) {
  const NoCancellation whole;
  if (client != nullptr && client->engine != nullptr && client->engine->is_forked())
    client->engine->leave_to_parent();
  else
    delete client;
}

int seqd_next(seqd_client* client, const char* name, int64_t* id) {
  return guarded(client, [&](auto& engine) {
    if (id == nullptr) return argument("id is NULL");
    return read_name(name).empty() ? check_name(name) : engine.call_next(name, *id);
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
    if (outcome.ok()) *text = client->answer.result().c_str();
    return outcome;
  });
}

int seqd_parse(seqd_client* client, const char* name, const char* text, seqd_parsed* parsed) {
  return guarded(client, [&](auto& engine) {
    constexpr std::size_t kLeast = SEQD_END_OF(seqd_parsed, check);
    if (text == nullptr || parsed == nullptr || parsed->size < kLeast)
      return argument("text or parsed is NULL, or its size is not set; SEQD_PARSED_INIT sets it");
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
    if (outcome.ok()) outcome = read_parsed(answer.result(), client->parsed);
    if (!outcome.ok()) return outcome;
    const seqd_parsed found = {0, client->parsed.number, client->parsed.period.c_str(),
                               client->parsed.check.c_str()};
    (void)copy_out(found, parsed, kLeast);
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

int seqd_peek(seqd_client* client, const char* name, seqd_peeked* peeked) {
  return guarded(client, [&](auto& engine) {
    constexpr std::size_t kLeast = SEQD_END_OF(seqd_peeked, last_known);
    if (peeked == nullptr || peeked->size < kLeast)
      return argument("peeked is NULL, or its size is not set; SEQD_PEEKED_INIT sets it");
    Request request;
    Outcome outcome = make_next(name, request);
    if (!outcome.ok()) return outcome;
    request.method = Request::Method::peek;
    Answer answer;
    outcome = engine.call(std::move(request), answer);
    if (!outcome.ok()) return outcome;
    seqd_peeked found = SEQD_PEEKED_INIT;
    const Peeked& reply = answer.more().peeked;
    found.next = reply.next.value_or(0);
    found.available = reply.available;
    found.last = reply.last.value_or(0);
    found.next_known = reply.next ? 1 : 0;
    found.last_known = reply.last ? 1 : 0;
    (void)copy_out(found, peeked, kLeast);
    return outcome;
  });
}

namespace {

int insert(seqd_client* client, const char* name, const void* document, size_t length,
           const char* unique, int64_t* id) {
  return guarded(client, [&](auto& engine) {
    if (id == nullptr) return argument("id is NULL");
    Request request;
    Outcome outcome = make_insert(name, document, length, unique, request);
    if (!outcome.ok()) return outcome;
    Answer answer;
    outcome = engine.call(std::move(request), answer);
    if (outcome.ok()) *id = answer.first.first;
    return outcome;
  });
}

}  // namespace

int seqd_insert(seqd_client* client, const char* name, const void* document, size_t document_length,
                int64_t* id) {
  return insert(client, name, document, document_length, nullptr, id);
}

int seqd_insert_unique(seqd_client* client, const char* name, const void* document,
                       size_t document_length, const char* field, int64_t* id) {
  return insert(client, name, document, document_length, field == nullptr ? "" : field, id);
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
    *result = client->answer.result().data();
    *result_length = client->answer.result().size();
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
    if (found == engine.daemon().limits.end())
      return argument("the daemon has no limit of this name");
    *value = found->second;
    return Outcome();
  });
}

const char* seqd_last_error(const seqd_client* client) {
  return client == nullptr ? "" : client->error.text.c_str();
}

const char* seqd_error_name(int code) {
  return code_name(code);
}

int seqd_error_is_transient(int code) {
  return is_transient(code) ? 1 : 0;
}

const char* seqd_version(void) {
  return SEQD_VERSION;
}

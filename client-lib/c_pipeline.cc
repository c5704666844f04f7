// The part of the C ABI that submits requests and polls for their answers, for programs with many
// requests in flight and for event loops.
#include <poll.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>

#include "client-lib/c_handle.h"

using namespace seqd::engine;

namespace {

// The replies of the first version; those of later ones are longer.
constexpr std::size_t kReplyBytes = SEQD_END_OF(seqd_reply, run_count);

// Writes a reply into `size` bytes, as a caller of any version knows it; fields that this version
// does not know are zero.
void write_reply(const Answer& answer, char* place, std::size_t size) {
  seqd_reply reply = {};
  reply.tag = answer.tag;
  if (answer.outcome.ok() && !answer.rest) {
    reply.text = "";
    reply.runs = &answer.first;
    reply.run_count = answer.first.count == 0 ? 0 : 1;
  } else {
    reply.code = answer.outcome.code;
    reply.text = (answer.outcome.ok() ? answer.result() : answer.outcome.text).c_str();
    reply.runs = answer.runs().data();
    reply.run_count = answer.runs().size();
  }
  reply.id = reply.run_count == 0 ? 0 : reply.runs[0].first;
  if (size > sizeof(reply)) std::memset(place + sizeof(reply), 0, size - sizeof(reply));
  std::memcpy(place, &reply, std::min(size, sizeof(reply)));
}

}  // namespace

// Two calls that say whether a thread may be cancelled are a tenth of what a request costs here.
int seqd_submit_next(seqd_client* client, const char* name, void* tag) {
  return guarded_in_memory(client, [&](auto& engine) {
    if (name != nullptr && engine.submit_next_again(name, tag)) return int{SEQD_OK};
    const std::string_view text = read_name(name);
    if (text.empty()) return fail(client, check_name(name));
    if (engine.submit_next(text, tag)) return int{SEQD_OK};
    const NoCancellation renewing;
    Request request;
    request.name = text;
    request.tag = tag;
    return fail(client, engine.submit(std::move(request)));
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

namespace {

int submit_insert(seqd_client* client, const char* name, const void* document, size_t length,
                  const char* unique, void* tag) {
  return guarded(client, [&](auto& engine) {
    Request request;
    Outcome outcome = make_insert(name, document, length, unique, request);
    request.tag = tag;
    return outcome.ok() ? engine.submit(std::move(request)) : outcome;
  });
}

}  // namespace

int seqd_submit_insert(seqd_client* client, const char* name, const void* document,
                       size_t document_length, void* tag) {
  return submit_insert(client, name, document, document_length, nullptr, tag);
}

int seqd_submit_insert_unique(seqd_client* client, const char* name, const void* document,
                              size_t document_length, const char* field, void* tag) {
  return submit_insert(client, name, document, document_length, field == nullptr ? "" : field, tag);
}

int seqd_poll(seqd_client* client, int64_t timeout_ms, seqd_reply* replies, size_t reply_size,
              size_t capacity, size_t* used) {
  return guarded(client, [&](auto& engine) {
    if (used == nullptr || (replies == nullptr && capacity > 0))
      return argument("replies or used is NULL");
    *used = 0;
    if (reply_size < kReplyBytes) return argument("reply_size is not sizeof(seqd_reply)");
    if (timeout_ms < 0 || timeout_ms > INT_MAX)
      return argument("timeout_ms is not within 0 .. 2^31-1");
    engine.poll(timeout_ms, capacity);
    auto* place = reinterpret_cast<char*>(replies);
    for (std::size_t at = 0; at < engine.delivered_count(); ++at, place += reply_size)
      write_reply(engine.delivered(at), place, reply_size);
    *used = engine.delivered_count();
    return Outcome();
  });
}

size_t seqd_pending(const seqd_client* client) {
  return client == nullptr || client->engine == nullptr ? 0 : client->engine->pending();
}

int seqd_descriptor(seqd_client* client, seqd_watch* watch) {
  return guarded(client, [&](auto& engine) {
    if (watch == nullptr) return argument("watch is NULL");
    seqd_watch found = SEQD_WATCH_INIT;
    found.events = engine.prepare_output() ? POLLIN | POLLOUT : POLLIN;
    found.generation = engine.generation();
    found.descriptor = engine.descriptor();
    found.timeout_ms = static_cast<int>(std::min<std::int64_t>(engine.idle_ms(), INT_MAX));
    if (!copy_out(found, watch, SEQD_END_OF(seqd_watch, timeout_ms)))
      return argument("the size in *watch is not set; SEQD_WATCH_INIT sets it");
    return Outcome();
  });
}

// peek, list, status and ping: the methods that look. They issue nothing and lease nothing.
#include <optional>
#include <string>

#include "daemon/rpc/method_list.h"
#include "protocol/names.h"
#include "protocol/replies.h"
#include "protocol/value_writer.h"

namespace seqd {
namespace {

using protocol::Buffer;
using protocol::Message;

void append_optional(Buffer& out, const std::optional<std::int64_t>& value) {
  if (value) {
    protocol::append_integer(out, *value);
  } else {
    protocol::append_nil(out);
  }
}

void append_error(Buffer& out, const Status& status) {
  if (status.ok()) {
    protocol::append_nil(out);
  } else {
    protocol::append_text(out, status.to_string());
  }
}

void append_count(Buffer& out, std::string_view key, std::uint64_t value) {
  protocol::append_text(out, key);
  protocol::append_integer(out, static_cast<std::int64_t>(value));
}

void append_pair(Buffer& out, std::string_view key, std::string_view value) {
  protocol::append_text(out, key);
  protocol::append_text(out, value);
}

std::optional<std::int64_t> next_of(const Sequence& sequence) {
  return sequence.scope().owned() ? sequence.next_id() : std::nullopt;
}

void append_stores(Buffer& out, const DaemonFacts& facts) {
  protocol::append_text(out, "stores");
  protocol::append_array(out, static_cast<std::uint32_t>(facts.stores.size()));
  for (const StoreFacts& store : facts.stores) {
    protocol::append_map(out, 4);
    append_pair(out, "name", store.name);
    append_pair(out, "type", store.type);
    append_pair(out, "state", store.state);
    protocol::append_text(out, "error");
    if (store.error.empty()) {
      protocol::append_nil(out);
    } else {
      protocol::append_text(out, store.error);
    }
  }
}

}  // namespace

void method_peek(const MethodContext& context, Session& session, const Message& message) {
  protocol::ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count == 1 ? params.read_text() : std::nullopt;
  if (!name)
    return answer_error(session, message.msgid, {ErrorCode::BAD_REQUEST, "peek takes a name"});
  if (const auto problem = protocol::check_sequence_name(*name, context.limits.name)) {
    return answer_error(session, message.msgid, {problem->code, std::string(problem->text)});
  }
  const SequenceId id = context.table.find(*name);
  std::optional<std::int64_t> next;
  std::optional<std::int64_t> last;
  std::int64_t in_hand = 0;
  if (id != 0) {
    const Sequence& sequence = context.table.at(id);
    next = next_of(sequence);
    last = sequence.last_issued();
    in_hand = sequence.in_hand();
  }
  Buffer& out = session.out;
  protocol::begin_result(out, message.msgid);
  protocol::append_map(out, 3);
  protocol::append_text(out, "next");
  append_optional(out, next);
  append_count(out, "in_hand", static_cast<std::uint64_t>(in_hand));
  protocol::append_text(out, "last");
  append_optional(out, last);
}

void method_list(const MethodContext& context, Session& session, const Message& message) {
  const std::vector<const Sequence*> sequences = context.table.list();
  Buffer& out = session.out;
  protocol::begin_result(out, message.msgid);
  protocol::append_array(out, static_cast<std::uint32_t>(sequences.size()));
  for (const Sequence* sequence : sequences) {
    protocol::append_map(out, 6);
    append_pair(out, "name", sequence->name());
    append_pair(out, "store", sequence->scope().store_name());
    append_count(out, "in_hand", static_cast<std::uint64_t>(sequence->in_hand()));
    protocol::append_text(out, "next");
    append_optional(out, next_of(*sequence));
    append_pair(out, "state", sequence->state_name());
    protocol::append_text(out, "error");
    append_error(out, sequence->error());
  }
}

void method_status(const MethodContext& context, Session& session, const Message& message) {
  const DaemonFacts facts = context.control.facts();
  std::int64_t issued = 0;
  const std::vector<const Sequence*> sequences = context.table.list();
  for (const Sequence* sequence : sequences) issued += sequence->totals().issued;
  Buffer& out = session.out;
  protocol::begin_result(out, message.msgid);
  protocol::append_map(out, 12);
  append_pair(out, "version", facts.version);
  append_count(out, "pid", static_cast<std::uint64_t>(facts.pid));
  append_pair(out, "instance", facts.instance);
  append_count(out, "uptime_ms", static_cast<std::uint64_t>(facts.uptime_ms));
  append_pair(out, "state_how", facts.state_how);
  append_count(out, "connections", context.counts.connections);
  append_count(out, "requests", context.counts.requests);
  append_count(out, "issued", static_cast<std::uint64_t>(issued));
  append_count(out, "sequences", sequences.size());
  append_count(out, "waiting", static_cast<std::uint64_t>(context.table.waiting()));
  append_stores(out, facts);
  protocol::append_text(out, "log");
  protocol::append_map(out, 3);
  append_count(out, "position", facts.log_position);
  append_count(out, "syncs", facts.log_syncs);
  append_count(out, "rotations", facts.log_rotations);
}

void method_ping(const MethodContext&, Session& session, const Message& message) {
  protocol::begin_result(session.out, message.msgid);
  protocol::append_text(session.out, "pong");
}

}  // namespace seqd

// hello, ack and reload: the methods about the client and the daemon themselves.
#include <cstring>
#include <optional>
#include <string>

#include "daemon/rpc/method_list.h"
#include "protocol/replies.h"
#include "protocol/value_writer.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueReader;

struct Hello {
  std::optional<Token> client;
  std::string name;
};

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// 16 bytes as they are, or 32 hexadecimal digits.
std::optional<Token> read_identity(std::string_view text) {
  Token token{};
  if (text.size() == token.size()) {
    std::memcpy(token.data(), text.data(), token.size());
    return token;
  }
  if (text.size() != 2 * token.size()) return std::nullopt;
  for (std::size_t at = 0; at < token.size(); ++at) {
    const int high = hex_value(text[2 * at]);
    const int low = hex_value(text[2 * at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    token[at] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return token;
}

Result<Hello> read_hello(const Message& message) {
  Hello hello;
  if (message.param_count == 0) return hello;
  ValueReader params = message.params;
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs || message.param_count > 1)
    return Status(ErrorCode::BAD_REQUEST, "hello takes one map of options");
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    const std::optional<std::string_view> value = key ? params.read_text() : std::nullopt;
    if (!value) return Status(ErrorCode::BAD_REQUEST, "the options of hello are texts or bytes");
    if (*key == "client") {
      hello.client = read_identity(*value);
      if (!hello.client) {
        return Status(ErrorCode::BAD_REQUEST, "client must be 16 bytes or 32 hexadecimal digits");
      }
    } else if (*key == "name") {
      if (value->size() > protocol::kClientNameBytes) {
        return Status(ErrorCode::TOO_LARGE,
                      "name is above " + std::to_string(protocol::kClientNameBytes) + " bytes");
      }
      hello.name.assign(*value);
    } else {
      return Status(ErrorCode::BAD_REQUEST, "the options of hello are \"client\" and \"name\"");
    }
  }
  return hello;
}

// The number below which every reply has arrived, or what is wrong with the parameters.
Result<std::uint32_t> read_below(const Session& session, const Message& message) {
  ValueReader params = message.params;
  const std::optional<std::int64_t> below =
      message.param_count == 1 ? params.read_integer() : std::nullopt;
  if (!below || *below < 0 || *below > 0xffffffffLL) {
    return Status(ErrorCode::BAD_REQUEST, "ack takes one request number");
  }
  if (session.client == 0) {
    return Status(ErrorCode::BAD_REQUEST,
                  "ack is for clients that said who they are (hello with \"client\")");
  }
  return static_cast<std::uint32_t>(*below);
}

void append_limit(protocol::Buffer& out, std::string_view name, std::int64_t value) {
  protocol::append_text(out, name);
  protocol::append_integer(out, value);
}

void append_names(protocol::Buffer& out, std::string_view key,
                  const std::vector<std::string>& names) {
  protocol::append_text(out, key);
  protocol::append_array(out, static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) protocol::append_text(out, name);
}

}  // namespace

void method_hello(const MethodContext& context, Session& session, const Message& message) {
  const Result<Hello> hello = read_hello(message);
  if (!hello.ok()) return answer_error(session, message.msgid, hello.status());
  bool known = false;
  if (hello->client) {
    // What an older connection of this client was issued in this very turn must be found by its
    // repeats.
    context.table.flush_issues();
    const Result<ReplayTable::Attached> attached = context.table.replays().attach(*hello->client);
    if (!attached.ok()) return answer_error(session, message.msgid, attached.status());
    known = attached->known;
    if (session.client != 0 && session.client != attached->client) {
      context.table.replays().detach(attached->client, context.clock.monotonic_ms());
      return answer_error(session, message.msgid,
                          {ErrorCode::BAD_REQUEST, "this connection has another identity already"});
    }
    context.sessions.bind(session, attached->client);
  }
  session.client_name = hello->name;
  const MethodLimits& limits = context.limits;
  protocol::Buffer& out = session.out;
  protocol::begin_result(out, message.msgid);
  protocol::append_map(out, 6);
  protocol::append_text(out, "server");
  protocol::append_text(out, "seqd");
  const DaemonFacts facts = context.control.facts();
  protocol::append_text(out, "version");
  protocol::append_text(out, facts.version);
  append_limit(out, "protocol", protocol::kProtocolVersion);
  protocol::append_text(out, "known");
  protocol::append_bool(out, known);
  protocol::append_text(out, "instance");
  protocol::append_text(out, facts.instance);
  protocol::append_text(out, "limits");
  protocol::append_map(out, 6);
  append_limit(out, "frame", limits.frame.frame);
  append_limit(out, "depth", limits.frame.depth);
  append_limit(out, "name", static_cast<std::int64_t>(limits.name));
  append_limit(out, "count", limits.count);
  append_limit(out, "pipeline", limits.pipeline);
  append_limit(out, "unacknowledged", limits.unacknowledged);
}

void method_ack(const MethodContext& context, Session& session, const Message& message) {
  const Result<std::uint32_t> below = read_below(session, message);
  if (!below.ok()) return answer_error(session, message.msgid, below.status());
  context.table.flush_issues();
  context.table.replays().acknowledge(session.client, *below);
  protocol::begin_result(session.out, message.msgid);
  protocol::append_nil(session.out);
}

void notified_ack(const MethodContext& context, Session& session, const Message& message) {
  const Result<std::uint32_t> below = read_below(session, message);
  if (!below.ok()) return;  // nobody waits for an answer
  context.table.flush_issues();
  context.table.replays().acknowledge(session.client, *below);
}

void method_reload(const MethodContext& context, Session& session, const Message& message) {
  const Result<ReloadReport> report = context.control.reload();
  if (!report.ok()) return answer_error(session, message.msgid, report.status());
  protocol::begin_result(session.out, message.msgid);
  protocol::append_map(session.out, 2);
  append_names(session.out, "applied", report->applied);
  append_names(session.out, "restart_needed", report->restart_needed);
}

}  // namespace seqd

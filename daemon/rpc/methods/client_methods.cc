// hello, ack and reload: the methods about the client and the daemon themselves.
#include <cstring>
#include <optional>
#include <string>

#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/rights.h"
#include "protocol/replies.h"
#include "protocol/text/plain_text.h"

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
      // Printed on terminals.
      hello.name.resize(value->size());
      hello.name.resize(protocol::write_plain_text(*value, hello.name.data(), hello.name.size()));
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
                  "ack requires a client with an identity (hello with \"client\")");
  }
  return static_cast<std::uint32_t>(*below);
}

// False, too, where it is not known.
bool is_same_process(const Peer& one, const Peer& other) {
  return one.pid != 0 && one.pid == other.pid && one.uid == other.uid;
}

// The newer connection takes over the client's identity and blocks; the client repeats requests
// that wait on the older one.
void bind_client(const MethodContext& context, Session& session, ClientId client) {
  BlockTable& blocks = context.table.blocks();
  if (Session* const older = context.sessions.bind(session, client)) {
    // Two processes may not have one identity. If they do, the older one still takes: its blocks
    // end, and it never sees the page of the newer one.
    if (!is_same_process(older->peer, session.peer)) blocks.end_client(client);
    forget_waiting(context, *older);
    older->waiting = 0;
    older->closing = true;
    older->transport.attend();
  }
  // After a start it is unknown which process held the blocks and may still be attached to the
  // page.
  const auto is_anothers = [&](const Block& block) { return block.user != session.peer.uid; };
  if (blocks.end_some(client, is_anothers)) blocks.end_client(client);
  blocks.client_back(client, session.id);
  // An earlier process may have been allowed more.
  blocks.end_some(client, [&](const Block& block) {
    const std::string& name = context.table.at(block.granted.sequence).name();
    return !check_may_take(context, session.peer, base_of(name)).ok();
  });
}

void pack_limits(Packer& packer, const MethodLimits& limits, std::uint32_t unacknowledged) {
  packer.pack("limits");
  packer.pack_map(6);
  pack_pair(packer, "frame", limits.frame.frame);
  pack_pair(packer, "depth", limits.frame.depth);
  pack_pair(packer, "name", limits.name);
  pack_pair(packer, "count", limits.count);
  pack_pair(packer, "pipeline", limits.pipeline);
  pack_pair(packer, "unacknowledged", unacknowledged);
}

}  // namespace

void method_hello(const MethodContext& context, Session& session, const Message& message) {
  const Result<Hello> hello = read_hello(message);
  if (!hello.ok()) return answer_error(session, message.msgid, hello.status());
  bool known = false;
  if (hello->client) {
    if (session.client != 0 && context.table.replays().identity(session.client) != *hello->client) {
      return answer_error(session, message.msgid,
                          {ErrorCode::BAD_REQUEST, "this connection has another identity already"});
    }
    // What an older connection of this client was issued in this very turn must be found by its
    // repeats.
    context.table.append_issues();
    const Result<ReplayTable::Attached> attached =
        context.table.replays().attach(*hello->client, session.peer.uid);
    if (!attached.ok()) return answer_error(session, message.msgid, attached.status());
    known = attached->known;
    bind_client(context, session, attached->client);
  }
  session.client_name = hello->name;
  if (context.recorder != nullptr) context.recorder->named(session.id, hello->name);
  const DaemonFacts facts = context.control.facts();
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(7);
  pack_pair(packer, "server", "seqd");
  pack_pair(packer, "version", facts.version);
  pack_pair(packer, "protocol", protocol::kProtocolVersion);
  pack_pair(packer, "known", known);
  pack_pair(packer, "instance", facts.instance);
  pack_text(packer, "connection", connection_name(context, session));
  pack_limits(packer, context.limits, context.table.replays().window());
}

void method_ack(const MethodContext& context, Session& session, const Message& message) {
  const Result<std::uint32_t> below = read_below(session, message);
  if (!below.ok()) return answer_error(session, message.msgid, below.status());
  context.table.append_issues();
  context.table.replays().acknowledge(session.client, *below);
  protocol::begin_result(session.out, message.msgid);
  Packer(session.out).pack_nil();
}

void notified_ack(const MethodContext& context, Session& session, const Message& message) {
  const Result<std::uint32_t> below = read_below(session, message);
  if (!below.ok()) return;  // a notification has no reply
  context.table.append_issues();
  context.table.replays().acknowledge(session.client, *below);
}

void method_reload(const MethodContext& context, Session& session, const Message& message) {
  asked(session, message, Status());
  const DeferredReply reply = defer(context, session, message, "");
  const Status queued =
      context.control.reload(session.peer.uid, [reply](const Result<ReloadReport>& report) {
        if (!report.ok()) return reply.fail(report.status());
        reply.result([&](protocol::Buffer& out) {
          Packer packer(out);
          packer.pack_map(2);
          pack_pair(packer, "applied", report->applied);
          pack_pair(packer, "restart_needed", report->restart_needed);
        });
      });
  if (!queued.ok()) return reply.fail(queued);
  raise_administered(context, session, "reload", "", "");
}

}  // namespace seqd

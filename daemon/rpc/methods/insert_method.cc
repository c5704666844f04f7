// insert: puts a document into the collection of a sequence that inserts; the answer, its _id,
// comes when the store has it. A repeat is refused, because the store cannot determine whether a
// document was inserted by the first request; unless the document has a unique field, which
// identifies it.
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/limits.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

using protocol::ValueKind;
using protocol::ValueReader;

struct Wanted {
  std::string_view name;
  std::string_view document;
  std::int64_t timeout_ms = -1;  // the sequence's own
  std::string_view connection;   // the one it was first sent on; empty: it does not say
  std::string_view unique;       // the field that is unique; empty: none
};

constexpr std::size_t kMostFieldName = 128;

// Of a field at the top of a document: one that a filter can name.
bool is_field_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostFieldName && name != "_id" && name.front() != '$' &&
         name.find('.') == name.npos && name.find('\0') == name.npos && protocol::is_utf8(name);
}

Status read_options(ValueReader& params, Wanted& wanted) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return bad_request("options must be a map");
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (key == "connection") {
      const std::optional<std::string_view> name = params.read_text();
      if (!name || name->empty())
        return bad_request("connection must be the text that hello returned as \"connection\"");
      wanted.connection = *name;
      continue;
    }
    if (key == "unique") {
      const std::optional<std::string_view> field = params.read_text();
      if (!field || !is_field_name(*field)) {
        return bad_request(
            "unique must be the name of a field of the document, 1 to " +
            std::to_string(kMostFieldName) +
            " bytes, without a dot, a dollar sign in front and zero bytes, and not _id");
      }
      wanted.unique = *field;
      continue;
    }
    if (key != "timeout_ms")
      return bad_request("the options are \"timeout_ms\", \"connection\" and \"unique\"");
    const std::optional<std::int64_t> value = params.read_integer();
    if (!value || *value < 0 || *value > protocol::kMaxTimeoutMs) {
      return bad_request("timeout_ms must be an integer within 0.." +
                         std::to_string(protocol::kMaxTimeoutMs));
    }
    wanted.timeout_ms = *value;
  }
  return {};
}

Result<Wanted> read_wanted(const MethodContext& context, const protocol::Message& message) {
  const Status usage =
      bad_request("insert takes a name, a document and, optionally, a map of options");
  ValueReader params = message.params;
  if (message.param_count < 2 || message.param_count > 3) return usage;
  const std::optional<std::string_view> name = params.read_text();
  if (!name) return usage;
  if (Status status = check_name(context.limits, *name); !status.ok()) return status;
  if (params.kind() != ValueKind::map)
    return Status(ErrorCode::DOCUMENT_REFUSED, "the document is not a map");
  const std::span<const std::uint8_t> rest = params.bytes();
  if (!params.skip()) return usage;
  Wanted wanted;
  wanted.name = *name;
  wanted.document = {reinterpret_cast<const char*>(rest.data()), rest.size() - params.remaining()};
  if (message.param_count == 2) return wanted;
  if (Status status = read_options(params, wanted); !status.ok()) return status;
  return wanted;
}

// A client with an identity may repeat a request, and names the connection on which it sent it
// first.
Status check_fresh(const MethodContext& context, Session& session, std::uint32_t msgid,
                   const Wanted& wanted) {
  // Sending it again is safe.
  if (!wanted.unique.empty()) return {};
  if (!wanted.connection.empty() && wanted.connection != connection_name(context, session)) {
    return {
        ErrorCode::OUTCOME_UNKNOWN,
        "this insert was sent on an earlier connection, and it is not known whether the document "
        "was inserted then; check whether it exists, and send a new request if it does not"};
  }
  if (session.client == 0) return {};
  if (wanted.connection.empty()) {
    return bad_request(
        "a client with an identity must set, in the options of insert, the \"connection\" that its "
        "hello returned");
  }
  if (msgid <= session.newest_insert) {
    return bad_request(
        "the request number of an insert is above that of the insert before it, which was " +
        std::to_string(session.newest_insert));
  }
  session.newest_insert = msgid;
  return {};
}

}  // namespace

std::string connection_name(const MethodContext& context, const Session& session) {
  if (context.inserts == nullptr) return "";
  return context.inserts->run() + "-" + std::to_string(session.id);
}

void method_insert(const MethodContext& context, Session& session,
                   const protocol::Message& message) {
  const Result<Wanted> wanted = read_wanted(context, message);
  if (!wanted.ok()) return answer_error(session, message.msgid, wanted.status());
  if (Status allowed = check_may_take(context, session.peer, wanted->name); !allowed.ok())
    return answer_error(session, message.msgid, allowed);
  if (context.inserts == nullptr) {
    return answer_error(session, message.msgid,
                        {ErrorCode::CONFIG, "this daemon has no store that inserts documents"});
  }
  if (Status fresh = check_fresh(context, session, message.msgid, *wanted); !fresh.ok())
    return answer_error(session, message.msgid, fresh);
  if (context.table.find(wanted->name) != 0) {
    return answer_error(
        session, message.msgid,
        {ErrorCode::WRONG_MODE, "\"" + std::string(wanted->name) +
                                    "\" has leased ranges and issues IDs: take them with next, or "
                                    "configure a sequence of another name with mode = \"insert\""});
  }
  InsertQueue::Wanted insert;
  insert.session = session.id;
  insert.user = session.peer.uid;
  insert.document = std::string(wanted->document);
  insert.timeout_ms = wanted->timeout_ms;
  insert.unique = std::string(wanted->unique);
  insert.done =
      [reply = defer(context, session, message, wanted->name)](const Result<std::int64_t>& id) {
        if (!id.ok()) return reply.fail(id.status());
        reply.answer([&](Session& found) {
          ++found.ids;
          protocol::append_id_reply(found.out, reply.msgid, *id);
        });
      };
  asked(session, message, context.inserts->insert(wanted->name, std::move(insert)));
}

}  // namespace seqd

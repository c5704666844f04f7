// advance: raises a sequence's counter in its store; the answer comes when the store has answered.
#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/later.h"
#include "daemon/rpc/method_list.h"
#include "protocol/names.h"
#include "protocol/value_writer.h"

namespace seqd {
namespace {

struct Wanted {
  std::string_view name;
  std::int64_t next_id = 0;  // 0: above all that this host was granted
};

Result<Wanted> read_wanted(const MethodContext& context, const protocol::Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "advance takes a name and, if need be, the ID that is to come next");
  protocol::ValueReader params = message.params;
  if (message.param_count < 1 || message.param_count > 2) return usage;
  const std::optional<std::string_view> name = params.read_text();
  if (!name) return usage;
  if (const auto problem = protocol::check_sequence_name(*name, context.limits.name)) {
    return Status(problem->code, std::string(problem->text));
  }
  Wanted wanted{*name, 0};
  if (message.param_count == 1) return wanted;
  const std::optional<std::int64_t> next_id = params.read_integer();
  if (!next_id || *next_id < 1) return usage;
  wanted.next_id = *next_id;
  return wanted;
}

}  // namespace

void method_advance(const MethodContext& context, Session& session,
                    const protocol::Message& message) {
  const Result<Wanted> wanted = read_wanted(context, message);
  if (!wanted.ok()) return answer_error(session, message.msgid, wanted.status());
  const Result<SequenceId> sequence = context.table.open(wanted->name);
  if (!sequence.ok()) return answer_error(session, message.msgid, sequence.status());
  context.table.advance(
      *sequence, wanted->next_id,
      [reply = later(context, session, message, wanted->name)](Result<std::int64_t> reached) {
        if (!reached.ok()) return reply.fail(reached.status());
        reply.result([&](protocol::Buffer& out) { protocol::append_integer(out, *reached); });
      });
  asked(session, message, Status());
}

}  // namespace seqd

// advance: raises a sequence's counter in its store, and on demand discards the IDs below it that
// any host has available; the answer comes when the store has answered.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/register_records.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/values/value_writer.h"

namespace seqd {
namespace {

struct Wanted {
  std::string_view name;
  std::optional<std::int64_t> next_id;  // none: above all that this host was granted
  bool everywhere = false;
};

Status read_options(protocol::ValueReader& params, Wanted& wanted) {
  const Status usage(ErrorCode::BAD_REQUEST, "the only option is \"everywhere\", true or false");
  const std::optional<std::uint32_t> pairs = params.read_map();
  for (std::uint32_t at = 0; pairs && at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    const std::optional<bool> value = key ? params.read_bool() : std::nullopt;
    if (!value || *key != "everywhere") return usage;
    wanted.everywhere = *value;
  }
  return pairs ? Status() : usage;
}

Result<Wanted> read_wanted(const MethodContext& context, const protocol::Message& message) {
  const Status usage(
      ErrorCode::BAD_REQUEST,
      "advance takes a name and, optionally, the next ID or nil, and a map of options");
  protocol::ValueReader params = message.params;
  if (message.param_count < 1 || message.param_count > 3) return usage;
  const std::optional<std::string_view> name = params.read_text();
  if (!name) return usage;
  if (Status status = check_name_with_period(context.limits, *name); !status.ok()) return status;
  Wanted wanted;
  wanted.name = *name;
  if (message.param_count == 1) return wanted;
  protocol::ValueReader nil = params;
  if (nil.read_nil()) {
    params = nil;
  } else {
    wanted.next_id = params.read_integer();
    if (!wanted.next_id) return usage;
  }
  if (message.param_count == 2) return wanted;
  if (Status status = read_options(params, wanted); !status.ok()) return status;
  return wanted;
}

// The ordinal to advance to, as the core takes it; 0 for none.
Result<std::int64_t> ordinal_of(const Sequence& sequence, std::optional<std::int64_t> next_id) {
  const IdProgression* const progression = sequence.settings().progression.compiled.get();
  if (progression == nullptr) {
    if (!next_id || *next_id >= 1) return next_id.value_or(0);
    return Status(ErrorCode::BAD_REQUEST, "the next ID must be at least 1");
  }
  const std::int64_t lowest = std::max<std::int64_t>(sequence.definition().leased_below(), 1);
  if (lowest > progression->ordinals()) return progression->exhausted(sequence.name());
  if (!next_id) return lowest;
  if (const auto ordinal = progression->find_from(*next_id, lowest)) return *ordinal;
  if (!progression->find(*next_id, lowest)) return progression->no_id(sequence.name(), *next_id);
  return Status(ErrorCode::BAD_REQUEST,
                std::to_string(*next_id) + " of \"" + sequence.name() +
                    "\" was leased by this host already; the first that was not is " +
                    std::to_string(progression->value(lowest)));
}

// What the store has lost of a register becomes void.
void advance_register(const MethodContext& context, Session& session,
                      const protocol::Message& message, const Wanted& wanted) {
  if (wanted.next_id || wanted.everywhere) {
    return answer_error(session, message.msgid,
                        {ErrorCode::BAD_REQUEST,
                         "a register is advanced to the highest number that this host knows of it: "
                         "name no ID, and not everywhere"});
  }
  raise_administered(context, session, "advance", "SEQUENCE", wanted.name);
  RegisterQueue::Wanted raise;
  raise.reason = "restored";
  raise.by = stamp_of(context, session);
  raise.session = session.id;
  raise.user = session.peer.uid;
  raise.done = [reply = defer(context, session, message, wanted.name)](
                   const Result<RegisterAnswer>& answer) {
    if (!answer.ok()) return reply.fail(answer.status());
    if (answer->kind == RegisterAnswer::Kind::closed) {
      return reply.fail(
          {ErrorCode::SEQ_PERIOD_CLOSED, "\"" + reply.name +
                                             "\" is closed in this copy of the store, and has less "
                                             "than it had: put the right copy in place"});
    }
    const std::int64_t next = answer->record.number + 1;
    reply.result([&](protocol::Buffer& out) { protocol::append_integer(out, next); });
  };
  asked(session, message, context.registers->raise(wanted.name, std::move(raise)));
}

}  // namespace

void method_advance(const MethodContext& context, Session& session,
                    const protocol::Message& message) {
  const Result<Wanted> wanted = read_wanted(context, message);
  if (!wanted.ok()) return answer_error(session, message.msgid, wanted.status());
  if (context.registers != nullptr && context.registers->has(base_of(wanted->name)))
    return advance_register(context, session, message, *wanted);
  const Result<SequenceId> sequence = context.table.open_to_advance(wanted->name);
  if (!sequence.ok()) return answer_error(session, message.msgid, sequence.status());
  const Sequence& advanced = context.table.at(*sequence);
  const Result<std::int64_t> ordinal = ordinal_of(advanced, wanted->next_id);
  if (!ordinal.ok()) return answer_error(session, message.msgid, ordinal.status());
  const Progression progression = advanced.settings().progression.compiled;
  HistoryAdvance advance{*sequence,
                         std::max<std::int64_t>(advanced.definition().leased_below(), 1),
                         0,
                         context.clock.wall_ms(),
                         session.peer.uid,
                         session.peer.pid};
  // When it was ordered, and of that period: the clock may be another one when the store answers.
  const bool confirms_clock = context.table.is_of_now(*sequence);
  raise_administered(context, session, "advance", "SEQUENCE", advanced.name());
  context.table.orders().advance(
      *sequence, *ordinal, wanted->everywhere,
      [progression, advance, confirms_clock, recorder = context.recorder,
       reply = defer(context, session, message, wanted->name)](Result<std::int64_t> reached) {
        if (!reached.ok()) return reply.fail(reached.status());
        if (confirms_clock) reply.table.confirm_clock(advance.sequence);
        HistoryAdvance passed = advance;
        passed.end = *reached;
        if (recorder != nullptr && passed.begin < passed.end) recorder->add_advance(passed);
        const std::int64_t next = to_external_near(progression.get(), *reached);
        reply.result([&](protocol::Buffer& out) { protocol::append_integer(out, next); });
      });
  asked(session, message, Status());
}

}  // namespace seqd

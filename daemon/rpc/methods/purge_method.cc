// purge: removes the counters of periods that are over for longer than `period_retention`, a page
// at a time, or says which they are. The answer comes when the store has answered.
#include <optional>
#include <string>
#include <utility>

#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"

namespace seqd {
namespace {

Result<PurgeOrder> read_order(const MethodContext& context, const Session& session,
                              const protocol::Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "purge takes a name; true to remove counters, false to list them; and, "
                     "optionally, the text \"after\" of the previous reply");
  protocol::ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count >= 1 ? params.read_text() : std::nullopt;
  const std::optional<bool> remove = message.param_count >= 2 ? params.read_bool() : std::nullopt;
  if (!name || !remove || message.param_count > 3) return usage;
  // An error of a period is reported by the code that knows its cause.
  if (Status status = check_name_with_period(context.limits, *name); !status.ok()) return status;
  PurgeOrder order;
  order.name = std::string(*name);
  order.remove = *remove;
  order.user = session.peer.uid;
  order.process = session.peer.pid;
  if (message.param_count < 3) return order;
  const std::optional<std::string_view> after = params.read_text();
  if (!after) return usage;
  order.after = std::string(*after);
  return order;
}

void pack_counter(Packer& packer, const IdProgression* progression,
                  const PurgeReport::Counter& counter) {
  packer.pack_map(5);
  pack_pair(packer, "period", counter.period.name);
  pack_pair(packer, "key", counter.key);
  if (counter.last > 0) {
    pack_pair(packer, "last", to_external_near(progression, counter.last));
  } else {
    pack_nil(packer, "last");
  }
  pack_pair(packer, "removed", counter.removed);
  pack_said(packer, "why", counter.why);
}

// The progression of that period, if this daemon still has it.
const IdProgression* progression_at(const SequenceTable& table, const std::string& name,
                                    const PurgeReport& report, const Period& period) {
  const SequenceId held = table.find(period_sequence(name, period.name));
  return held == 0 ? report.progression.get()
                   : table.at(held).settings().progression.compiled.get();
}

void pack_report(Packer& packer, const SequenceTable& table, const std::string& name,
                 const PurgeReport& report) {
  packer.pack_map(4);
  pack_pair(packer, "name", name);
  packer.pack("counters");
  packer.pack_array(static_cast<std::uint32_t>(report.counters.size()));
  for (const PurgeReport::Counter& counter : report.counters)
    pack_counter(packer, progression_at(table, name, report, counter.period), counter);
  pack_pair(packer, "more", report.more);
  pack_text(packer, "after", report.more ? report.after : "");
}

}  // namespace

void method_purge(const MethodContext& context, Session& session,
                  const protocol::Message& message) {
  const Result<PurgeOrder> order = read_order(context, session, message);
  if (!order.ok()) return answer_error(session, message.msgid, order.status());
  if (context.purge == nullptr) {
    return answer_error(session, message.msgid,
                        {ErrorCode::UNAVAILABLE, "this daemon removes no counters"});
  }
  const Status begun = context.purge->begin(
      *order,
      [reply = defer(context, session, message, order->name)](const Result<PurgeReport>& report) {
        if (!report.ok()) return reply.fail(report.status());
        reply.result([&](protocol::Buffer& out) {
          Packer packer(out);
          pack_report(packer, reply.table, reply.name, *report);
        });
      });
  if (begun.ok() && order->remove)
    raise_administered(context, session, "purge", "SEQUENCE", order->name);
  asked(session, message, begun);
}

}  // namespace seqd

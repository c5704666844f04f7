// peek, list, status and ping: the methods that look. They issue nothing and lease nothing.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "daemon/core/sequence/sequence_state.h"
#include "daemon/rpc/drain_packing.h"
#include "daemon/rpc/ending.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/page_options.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;

constexpr std::size_t kMostRows = 1'000;  // of one reply

std::optional<std::int64_t> next_of(const Sequence& sequence) {
  const std::optional<std::int64_t> next = sequence.held().next_id();
  if (!next || !sequence.scope().owned()) return std::nullopt;
  return to_external(sequence, *next);
}

Exhaustion::Forecast forecast_of(const MethodContext& context, const Sequence& sequence) {
  return sequence.exhaustion().forecast(context.clock.monotonic_ms(), sequence.settings());
}

void pack_forecast(Packer& packer, const Exhaustion::Forecast& forecast) {
  pack_pair(packer, "left", forecast.left);
  pack_pair(packer, "days_left", forecast.days);
}

// Whether this user may know how many IDs of the sequence there are, and were.
bool may_count(const MethodContext& context, const Session& session, const Sequence& sequence) {
  // The users who may take its IDs are no longer configured.
  if (sequence.stop_cause() == StopCause::unconfigured)
    return check_administers(context.control, session.peer, "").ok();
  return may_know(context, session.peer, sequence.name(), &sequence.settings().access);
}

void pack_ending(Packer& packer, const MethodContext& context, const Session& session) {
  auto ending = ending_sequences(context.table, context.clock.monotonic_ms());
  std::erase_if(ending,
                [&](const auto& each) { return !may_count(context, session, *each.first); });
  packer.pack("ending");
  packer.pack_array(static_cast<std::uint32_t>(ending.size()));
  for (const auto& [sequence, forecast] : ending) {
    packer.pack_map(3);
    pack_pair(packer, "name", sequence->name());
    pack_forecast(packer, forecast);
  }
}

// What a drain makes of the IDs: those of a database that was exchanged become gaps.
Reuse reuse_of_drain(const Sequence& sequence) {
  return sequence.scope().refuses() ? Reuse::never : sequence.settings().reuse;
}

using Page = PageOptions<std::string_view>;

Status usage_of_list() {
  return {ErrorCode::BAD_REQUEST,
          "list takes an optional map of options: \"after\", a name, and \"limit\", an integer "
          "within 1.." +
              std::to_string(kMostRows) + "; or at most as many names"};
}

// Whether it names sequences, in place of a page of all of them.
bool has_names(const Message& message) {
  protocol::ValueReader params = message.params;
  return message.param_count > 0 && params.read_text();
}

Result<Page> read_page(const Message& message) {
  const Page all{.limit = kMostRows};
  if (message.param_count == 0) return all;
  protocol::ValueReader params = message.params;
  const auto page =
      message.param_count == 1 ? read_page_options(params, all, kMostRows) : std::nullopt;
  if (page) return *page;
  return usage_of_list();
}

void pack_volume(Packer& packer, const MethodContext& context, const Sequence& sequence) {
  pack_pair(packer, "available", sequence.available());
  pack_pair(packer, "out", sequence.out());
  pack_pair(packer, "next", next_of(sequence));
  pack_pair(packer, "issued", sequence.totals().issued);
  pack_pair(packer, "waiting", sequence.waiters().size());
  pack_forecast(packer, forecast_of(context, sequence));
  pack_pair(packer, "runway_ms", context.table.accounts().rates().runway_ms(sequence));
}

void pack_no_volume(Packer& packer) {
  for (const char* const key :
       {"available", "out", "next", "issued", "waiting", "left", "days_left", "runway_ms"})
    pack_nil(packer, key);
}

void pack_sequence(Packer& packer, const MethodContext& context, const Session& session,
                   const Sequence& sequence) {
  const Status error = request_error(sequence);
  const bool counts = may_count(context, session, sequence);
  packer.pack_map(13);
  pack_pair(packer, "name", sequence.name());
  pack_pair(packer, "reuse", reuse_word(reuse_of_drain(sequence)));
  pack_pair(packer, "store", sequence.scope().store_name());
  pack_pair(packer, "state", state_name(sequence));
  // Its text may contain counts.
  const std::string text = counts ? error.to_string() : std::string(error_name(error.code()));
  pack_said(packer, "error", error.ok() ? "" : text);
  if (counts) return pack_volume(packer, context, sequence);
  pack_no_volume(packer);
}

// A row of what leases nothing: it inserts, or it is a period of a register.
struct OtherRow {
  std::string name;
  std::string store;
  std::string_view state;
  std::int64_t issued = 0;
  std::int64_t waiting = 0;
  std::optional<std::int64_t> last = {};
  Status error = {};
};

OtherRow row_of(const InsertQueues::View& each) {
  return {each.name,
          each.store,
          each.queue->state_name(),
          each.queue->inserted(),
          each.queue->waiting(),
          each.queue->last(),
          each.queue->error()};
}

OtherRow row_of(const Registers::View& each) {
  const Status& error = each.stopped.ok() ? each.queue->error() : each.stopped;
  return {each.name,
          each.store,
          each.stopped.ok() ? each.queue->state_name() : "stopped",
          each.highest,
          each.queue->waiting(),
          each.highest > 0 ? std::optional(each.highest) : std::nullopt,
          error};
}

// In the order of their names: at most so many of those behind the name `after`.
std::vector<OtherRow> other_rows(const MethodContext& context, std::string_view after,
                                 std::size_t most) {
  std::vector<OtherRow> rows;
  if (context.inserts != nullptr) {
    for (const auto& each : context.inserts->list(after, most)) rows.push_back(row_of(each));
  }
  if (context.registers != nullptr) {
    for (const auto& each : context.registers->views(after, most)) rows.push_back(row_of(each));
  }
  std::ranges::sort(rows, {}, &OtherRow::name);
  if (rows.size() > most) rows.resize(most);
  return rows;
}

std::optional<OtherRow> other_row(const MethodContext& context, std::string_view name) {
  if (context.inserts != nullptr) {
    if (const auto each = context.inserts->view(name)) return row_of(*each);
  }
  if (context.registers != nullptr) {
    if (const auto each = context.registers->view(name)) return row_of(*each);
  }
  return std::nullopt;
}

void pack_other(Packer& packer, const MethodContext& context, const Session& session,
                const OtherRow& row) {
  const bool counts =
      may_know(context, session.peer, row.name, context.table.access_of(base_of(row.name)));
  packer.pack_map(13);
  pack_pair(packer, "name", row.name);
  pack_nil(packer, "reuse");
  pack_pair(packer, "store", row.store);
  pack_pair(packer, "available", 0);
  pack_pair(packer, "out", 0);
  pack_nil(packer, "next");
  if (counts) {
    pack_pair(packer, "issued", row.issued);
    pack_pair(packer, "waiting", row.waiting);
  } else {
    pack_nil(packer, "issued");
    pack_nil(packer, "waiting");
  }
  pack_pair(packer, "state", row.state);
  const std::string text =
      counts ? row.error.to_string() : std::string(error_name(row.error.code()));
  pack_said(packer, "error", row.error.ok() ? "" : text);
  pack_nil(packer, "left");
  pack_nil(packer, "days_left");
  pack_nil(packer, "runway_ms");
}

// Where available IDs end first.
void pack_smallest_runway(Packer& packer, const MethodContext& context, const Session& session) {
  const std::optional<SequenceRates::Runway>& runway = context.table.accounts().rates().smallest();
  if (!runway || !may_count(context, session, context.table.at(runway->sequence))) {
    pack_nil(packer, "runway_ms");
    return pack_nil(packer, "runway_sequence");
  }
  pack_pair(packer, "runway_ms", runway->ms);
  pack_pair(packer, "runway_sequence", context.table.at(runway->sequence).name());
}

void pack_stores(Packer& packer, const DaemonFacts& facts) {
  packer.pack("stores");
  packer.pack_array(static_cast<std::uint32_t>(facts.stores.size()));
  for (const StoreFacts& store : facts.stores) {
    packer.pack_map(6);
    pack_pair(packer, "name", store.name);
    pack_pair(packer, "type", store.type);
    pack_pair(packer, "state", store.state);
    pack_said(packer, "error", store.error);
    pack_text(packer, "lease_mode", store.lease_mode);
    pack_said(packer, "warning", store.warning);
  }
}

}  // namespace

void method_peek(const MethodContext& context, Session& session, const Message& message) {
  protocol::ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count == 1 ? params.read_text() : std::nullopt;
  if (!name)
    return answer_error(session, message.msgid, {ErrorCode::BAD_REQUEST, "peek takes a name"});
  if (const Status status = check_name_with_period(context.limits, *name); !status.ok()) {
    return answer_error(session, message.msgid, status);
  }
  if (const Status may = check_may_know(context, session.peer, *name, "peek"); !may.ok())
    return answer_error(session, message.msgid, may);
  const SequenceId id = context.table.find(*name);
  std::optional<std::int64_t> next;
  std::optional<std::int64_t> last;
  std::int64_t available = 0;
  if (id != 0) {
    const Sequence& sequence = context.table.at(id);
    next = next_of(sequence);
    last = sequence.issuer().last_issued();
    if (last) last = to_external(sequence, *last);
    available = sequence.available();
  } else if (context.registers != nullptr && context.registers->has(base_of(*name))) {
    last = context.registers->highest(*name);
  } else if (const auto other = other_row(context, *name)) {
    last = other->last;
  }
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(3);
  pack_pair(packer, "next", next);
  pack_pair(packer, "available", available);
  pack_pair(packer, "last", last);
}

// A row for each name; nil where it is not in use.
void list_of_names(const MethodContext& context, Session& session, const Message& message) {
  const auto names = read_names(context.limits, message, kMostRows, usage_of_list());
  if (!names.ok()) return answer_error(session, message.msgid, names.status());
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_array(static_cast<std::uint32_t>(names->size()));
  for (const std::string_view name : *names) {
    if (const SequenceId id = context.table.find(name); id != 0) {
      pack_sequence(packer, context, session, context.table.at(id));
    } else if (const auto other = other_row(context, name)) {
      pack_other(packer, context, session, *other);
    } else {
      packer.pack_nil();
    }
  }
}

void method_list(const MethodContext& context, Session& session, const Message& message) {
  if (has_names(message)) return list_of_names(context, session, message);
  const Result<Page> page = read_page(message);
  if (!page.ok()) return answer_error(session, message.msgid, page.status());
  const auto most = static_cast<std::size_t>(page->limit);
  const std::vector<const Sequence*> sequences = context.table.sequences().list(page->after, most);
  const std::vector<OtherRow> others = other_rows(context, page->after, most);
  const std::size_t rows = std::min(sequences.size() + others.size(), most);
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_array(static_cast<std::uint32_t>(rows));
  auto sequence = sequences.begin();
  auto other = others.begin();
  for (std::size_t row = 0; row < rows; ++row) {
    if (other == others.end() ||
        (sequence != sequences.end() && (*sequence)->name() < other->name)) {
      pack_sequence(packer, context, session, **sequence++);
    } else {
      pack_other(packer, context, session, *other++);
    }
  }
}

// Since this process started.
void pack_counts(Packer& packer, const MethodContext& context, const Session& session,
                 const DaemonFacts& facts) {
  std::uint64_t leases = 0;
  for (const StoreFacts& store : facts.stores) {
    if (store.leases == nullptr) continue;
    for (const LeaseResult result : {LeaseResult::granted, LeaseResult::found})
      leases += store.leases->ended.at(static_cast<std::size_t>(result));
  }
  const auto& gaps = context.table.budgets().gap_ids();
  pack_pair(packer, "leases", leases);
  pack_pair(packer, "gaps", std::accumulate(gaps.begin(), gaps.end(), std::int64_t{0}));
  pack_pair(packer, "errors",
            std::accumulate(session.refusals.begin(), session.refusals.end(), std::uint64_t{0}));
}

void method_status(const MethodContext& context, Session& session, const Message& message) {
  const DaemonFacts facts = context.control.facts();
  std::size_t sequences = context.table.sequences().size();
  std::int64_t issued = context.table.accounts().sums().issued;
  std::int64_t waiting = context.table.budgets().waiting();
  if (context.inserts != nullptr) {
    issued += context.inserts->inserted();
    waiting += context.inserts->waiting();
    sequences += context.inserts->size();
  }
  if (context.registers != nullptr) {
    waiting += context.registers->waiting();
    sequences += context.registers->size();
  }
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(19);
  pack_pair(packer, "version", facts.version);
  pack_pair(packer, "pid", facts.pid);
  pack_pair(packer, "instance", facts.instance);
  pack_pair(packer, "uptime_ms", facts.uptime_ms);
  pack_pair(packer, "state_how", facts.state_how);
  pack_pair(packer, "connections", context.counts.connections);
  pack_pair(packer, "requests", context.counts.requests());
  pack_pair(packer, "issued", issued);
  pack_pair(packer, "out", context.table.blocks().ids());
  pack_pair(packer, "sequences", sequences);
  pack_pair(packer, "waiting", waiting);
  pack_ending(packer, context, session);
  pack_stores(packer, facts);
  packer.pack("log");
  packer.pack_map(3);
  pack_pair(packer, "position", facts.log_position);
  pack_pair(packer, "syncs", facts.log_syncs);
  pack_pair(packer, "rotations", facts.log_rotations);
  pack_smallest_runway(packer, context, session);
  pack_counts(packer, context, session, facts);
}

void method_ping(const MethodContext&, Session& session, const Message& message) {
  protocol::begin_result(session.out, message.msgid);
  Packer(session.out).pack("pong");
}

}  // namespace seqd

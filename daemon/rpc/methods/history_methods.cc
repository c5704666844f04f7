// gaps, explain and audit: the methods that query the history, and answer later.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/names/id_form.h"
#include "daemon/core/text/id_format.h"
#include "daemon/core/text/period_name.h"
#include "daemon/core/upkeep/purge_rule.h"
#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/history/history_packing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/page_options.h"
#include "daemon/rpc/register_records.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueReader;

constexpr std::int64_t kMostGaps = 1'000;

Status nothing_known(const SequenceTable& table, const std::string& name) {
  if (table.sequences().find(name) == nullptr && table.names().has_forgotten(name)) {
    return {ErrorCode::NO_SEQUENCE, "the period of \"" + name +
                                        "\" is over, and its history is no longer kept "
                                        "(daemon.history_max_age, daemon.history_max_size)"};
  }
  return {ErrorCode::NO_SEQUENCE, "this daemon has no record of a range of \"" + name + "\""};
}

// The name that every one of these methods takes first, if this user may know what they answer; of
// a sequence with periods, that of the present one, under which the history knows it.
Result<std::string_view> read_name(const MethodContext& context, const Session& session,
                                   const Message& message, ValueReader& params, const char* usage) {
  const std::optional<std::string_view> name =
      message.param_count >= 1 ? params.read_text() : std::nullopt;
  if (!name) return bad_request(usage);
  if (context.history == nullptr)
    return Status(ErrorCode::UNAVAILABLE, "this daemon keeps no history");
  if (Status status = check_name_with_period(context.limits, *name); !status.ok()) return status;
  if (Status may = check_may_know(context, session.peer, *name, message.method); !may.ok())
    return may;
  if (Status status = check_leases(context, *name); !status.ok()) return status;
  const SequenceId sequence = context.table.find(*name);
  if (sequence != 0) return std::string_view(context.table.at(sequence).name());
  return *name;
}

Status read_gap_options(ValueReader& params, GapsQuestion& question) {
  if (params.kind() != protocol::ValueKind::map) return bad_request("options must be a map");
  const PageOptions<std::int64_t> first{question.after, question.limit};
  const auto page = read_page_options(params, first, kMostGaps);
  if (!page) {
    return bad_request(
        "the options are \"after\", the number of a gap, and \"limit\", an integer within 1.." +
        std::to_string(kMostGaps));
  }
  question.after = page->after;
  question.limit = page->limit;
  return {};
}

// Queries the store for the counter, if possible; else returns why not.
template <typename Done>
void read_counter(SequenceTable& table, SequenceId sequence, Done done) {
  const Sequence& asked = table.at(sequence);
  const StoreScope& scope = asked.scope();
  if (scope.store() == nullptr) {
    return done(Status(ErrorCode::CONFIG,
                       "the store \"" + scope.store_name() + "\" is not configured any more"));
  }
  if (!scope.last_error().ok()) return done(scope.last_error());
  scope.store()->read({asked.definition().binding(), scope.instance()}, std::move(done));
}

void take_counter(Result<CounterReading> counter, std::optional<CounterReading>& reading,
                  Status& why) {
  why = counter.status();
  if (counter.ok()) reading = *counter;
}

// Which position was meant: of a value that comes again the newest that has been issued here. Not
// all numbers are IDs of the sequence.
Status find_ordinal(const SequenceTable& table, const std::string& name, IdFacts& facts) {
  facts.ordinal = facts.id;
  facts.progression = progression_of(table, name);
  if (facts.progression == nullptr)
    return facts.id >= 1 ? Status()
                         : bad_request("explain takes a name and an ID, which is at least 1");
  const SequenceId sequence = table.find(name);
  const auto below = sequence == 0 ? 0
                                   : table.at(sequence).held().next_id().value_or(
                                         table.at(sequence).definition().high_water());
  const auto place = facts.progression->find(facts.id, below);
  if (!place) return facts.progression->no_id(name, facts.id);
  facts.ordinal = place->ordinal;
  facts.times = place->times;
  return {};
}

void core_facts(const SequenceTable& table, const std::string& name, IdFacts& facts) {
  const SequenceId sequence = table.find(name);
  facts.served = sequence != 0;
  facts.available = facts.returning = facts.leasing = false;
  facts.block.reset();
  facts.lease = Token{};
  facts.forgotten = !facts.served && table.names().has_forgotten(name);
  if (!facts.served) return;
  facts.high_water = table.at(sequence).definition().high_water();
  facts.leasing = table.at(sequence).slot().leasing();
  for (const HeldRanges::Held& held : table.at(sequence).held().ranges()) {
    if (facts.ordinal < held.range.begin() || facts.ordinal >= held.range.end()) continue;
    facts.available = true;
    facts.lease = held.lease;
  }
  if (const Block* const block = table.blocks().with_id(sequence, facts.ordinal)) {
    facts.block = *block;
    facts.lease = block->lease;
  }
  const std::optional<ReturnOpened>& open = table.at(sequence).slot().open_return();
  facts.returning = open && open->begin <= facts.ordinal && facts.ordinal < open->end;
}

}  // namespace

void method_gaps(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const auto name = read_name(context, session, message, params,
                              "gaps takes a name and, optionally, a map of options");
  if (!name.ok()) return answer_error(session, message.msgid, name.status());
  GapsQuestion question;
  question.name = std::string(*name);
  Status status = message.param_count > 2    ? bad_request("gaps takes a name and a map of options")
                  : message.param_count == 2 ? read_gap_options(params, question)
                                             : Status();
  if (!status.ok()) return answer_error(session, message.msgid, status);
  const DeferredReply reply = defer(context, session, message, *name);
  asked(session, message,
        context.history->ask_gaps(
            session.peer.uid, question, [reply](const Result<GapsAnswer>& answer) {
              if (!answer.ok()) return reply.fail(answer.status());
              if (!answer->known && reply.table.find(reply.name) == 0)
                return reply.fail(nothing_known(reply.table, reply.name));
              const Progression progression = progression_of(reply.table, reply.name);
              reply.result([&](protocol::Buffer& out) {
                pack_gaps(out, reply.name, progression.get(), *answer);
              });
            }));
}

namespace {

// An ID, or a text of one: [name, id or text].
Status read_id(const MethodContext& context, const Message& message, ValueReader params,
               std::string& name, std::int64_t& id) {
  const char* usage = "explain takes a name, and an ID or a text of one";
  if (message.param_count != 2) return bad_request(usage);
  ValueReader as_text = params;
  if (const std::optional<std::int64_t> number = params.read_integer()) {
    id = *number;
    return {};
  }
  const std::optional<std::string_view> text = as_text.read_text();
  if (!text) return bad_request(usage);
  const std::string base(base_of(name));
  const SequenceId present = context.table.find(name);
  const std::shared_ptr<const IdFormat> format = context.table.format_of(name);
  if (format == nullptr) {
    const Sequence* const any =
        present != 0 ? &context.table.at(present) : context.table.sequences().find_any_period(base);
    if (any != nullptr) return no_format(base, any->settings());
    return {ErrorCode::NO_SEQUENCE,
            "\"" + base + "\" is not in use here, so its texts cannot be read; use the number"};
  }
  const Result<ParsedId> parsed = format->read(base, *text);
  if (!parsed.ok()) return parsed.status();
  if (present != 0) {
    const Sequence& sequence = context.table.at(present);
    Status other = context.table.names().check_text(sequence.name(), sequence.settings());
    if (!other.ok()) return other;
  }
  id = parsed->number;
  const Sequence* const any = context.table.sequences().find_any_period(base);
  const PeriodRule* const rule = any == nullptr ? nullptr : any->settings().periods.rule.get();
  if (rule == nullptr) return {};
  const std::string period = period_told(rule->unit(), parsed->date);
  if (period.empty())
    return {ErrorCode::CONFIG, "the format of \"" + base +
                                   "\" does not contain the period, because its periods change at "
                                   "the next restart; use NAME@PERIOD and the number"};
  name = period_sequence(base, period);
  return {};
}

// Removes callers that the user may not see. Several users may share the number of unmapped users.
void hide_callers(IdAnswer& answer, UserId user) {
  std::optional<HistoryAdvance>& advance = answer.advance;
  if (advance && (advance->uid != user || user == kNoUserOrGroup)) advance->uid.reset();
  if (!answer.issue) return;
  const auto others = [user](const HistoryCaller& caller) {
    return caller.uid != user || user == kNoUserOrGroup;
  };
  if (std::erase_if(answer.issue->callers, others) > 0) {
    answer.issue->caller_missing = CallerMissing::hidden;
    answer.issue->span.others = answer.issue->span.others || !answer.issue->callers.empty();
  }
}

// One explain request. The history and the core are read at the same moment; if the store's counter
// is needed, they are read again after it, so that later leases are included.
class Explaining : public std::enable_shared_from_this<Explaining> {
 public:
  Explaining(const MethodContext& context, const Session& session, DeferredReply reply)
      : history_(*context.history),
        sessions_(context.sessions),
        reply_(std::move(reply)),
        user_(session.peer.uid),
        administers_(check_administers(context.control, session.peer, "explain").ok()) {}

  Status begin(std::int64_t value) {
    facts_.id = value;
    if (Status found = find_ordinal(reply_.table, reply_.name, facts_); !found.ok()) return found;
    return ask();
  }

 private:
  Status ask() {
    const auto self = shared_from_this();
    return history_.ask_id(
        user_, reply_.name, facts_.ordinal,
        [self] { core_facts(self->reply_.table, self->reply_.name, self->facts_); },
        [self](Result<IdAnswer> found) { self->answered(std::move(found)); });
  }

  void answered(Result<IdAnswer> found) {
    if (!found.ok()) return reply_.fail(found.status());
    if (!found->known && !facts_.served)
      return reply_.fail(nothing_known(reply_.table, reply_.name));
    facts_.history = std::move(*found);
    const SequenceId sequence = reply_.table.find(reply_.name);
    if (sequence == 0 || counter_read_ || !needs_store(facts_)) return finish();
    read_counter(reply_.table, sequence,
                 [self = shared_from_this()](Result<CounterReading> counter) {
                   take_counter(std::move(counter), self->facts_.counter, self->facts_.store);
                   self->counter_read_ = true;
                   if (Status asked = self->ask(); !asked.ok()) self->reply_.fail(asked);
                 });
  }

  void finish() {
    if (!administers_) hide_callers(facts_.history, user_);
    name_block_client();
    reply_.result([&](protocol::Buffer& out) { pack_explanation(out, reply_.name, facts_); });
  }

  // As hide_callers() has it.
  void name_block_client() {
    facts_.block_client.clear();
    const Session* const has = facts_.block ? sessions_.find(facts_.block->session) : nullptr;
    if (has == nullptr || !(administers_ || (has->peer.uid == user_ && user_ != kNoUserOrGroup)))
      return;
    facts_.block_client = "process " + std::to_string(has->peer.pid);
    if (!has->client_name.empty()) facts_.block_client += " (" + has->client_name + ")";
  }

  HistoryAsker& history_;
  Sessions& sessions_;
  const DeferredReply reply_;
  const UserId user_;
  const bool administers_;
  IdFacts facts_;
  bool counter_read_ = false;
};

// The period is over, and the core no longer has it: its sums are those of the history. Its counter
// is not queried.
void forgotten_facts(AuditFacts& facts) {
  const SequenceTotals& recorded = facts.history.recorded;
  const SequenceTotals& adjust = facts.history.adjust;
  facts.forgotten = true;
  facts.totals = {0,
                  recorded.leased + adjust.leased,
                  recorded.issued + adjust.issued,
                  recorded.returned + adjust.returned,
                  recorded.gaps + adjust.gaps,
                  recorded.unknown + adjust.unknown};
  facts.store = Status(ErrorCode::NO_SEQUENCE,
                       "not queried, because this daemon no longer holds the sequence");
}

}  // namespace

// True: the name is a register's, and the request is answered by it.
bool explain_of_register(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const auto name = message.param_count == 2 ? params.read_text() : std::nullopt;
  if (!name || context.registers == nullptr || !context.registers->has(base_of(*name)))
    return false;
  Status status = check_name_with_period(context.limits, *name);
  if (status.ok()) status = check_may_take(context, session.peer, base_of(*name));
  if (status.ok())
    explain_number(context, session, message, *name, params);
  else
    answer_error(session, message.msgid, status);
  return true;
}

void method_explain(const MethodContext& context, Session& session, const Message& message) {
  if (explain_of_register(context, session, message)) return;
  ValueReader params = message.params;
  const auto given = read_name(context, session, message, params,
                               "explain takes a name, and an ID or a text of one");
  if (!given.ok()) return answer_error(session, message.msgid, given.status());
  std::string name(*given);
  std::int64_t id = 0;
  if (Status read = read_id(context, message, params, name, id); !read.ok())
    return answer_error(session, message.msgid, read);
  const auto explaining =
      std::make_shared<Explaining>(context, session, defer(context, session, message, name));
  asked(session, message, explaining->begin(id));
}

void method_audit(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const auto name = read_name(context, session, message, params, "audit takes a name");
  if (!name.ok()) return answer_error(session, message.msgid, name.status());
  if (message.param_count != 1)
    return answer_error(session, message.msgid, bad_request("audit takes a name"));
  const DeferredReply reply = defer(context, session, message, *name);
  const SequenceId sequence = context.table.find(reply.name);
  auto facts = std::make_shared<AuditFacts>();
  facts->progression = progression_of(context.table, reply.name);
  const std::int64_t now_s = context.clock.wall_ms() / 1'000;
  const auto now = [reply, facts, sequence, now_s] {
    if (!reply.table.sequences().contains(sequence)) return;
    const Sequence& audited = reply.table.at(sequence);
    const PeriodSettings& periods = audited.settings().periods;
    facts->may_be_removed = periods.current && may_be_removed(periods, *periods.current, now_s);
    facts->totals = audited.totals();
    facts->available = audited.available();
    facts->out = audited.out();
    facts->returning = audited.slot().returning();
    facts->high_water = audited.definition().high_water();
    facts->progression = audited.settings().progression.compiled;
  };
  const auto answer = [reply, facts] {
    reply.result([&](protocol::Buffer& out) { pack_audit(out, reply.name, *facts); });
  };
  asked(session, message,
        context.history->ask_sums(session.peer.uid, reply.name, now, [=](Result<SumsAnswer> sums) {
          if (!sums.ok()) return reply.fail(sums.status());
          facts->history = *sums;
          if (!reply.table.sequences().contains(sequence)) {
            if (!sums->known) return reply.fail(nothing_known(reply.table, reply.name));
            forgotten_facts(*facts);
            return answer();
          }
          read_counter(reply.table, sequence, [facts, answer](Result<CounterReading> counter) {
            take_counter(std::move(counter), facts->counter, facts->store);
            answer();
          });
        }));
}

}  // namespace seqd

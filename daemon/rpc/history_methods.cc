// gaps, explain and audit: the methods that ask the history, and answer later.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/purge_rule.h"
#include "daemon/rpc/history_packing.h"
#include "daemon/rpc/later.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/shown.h"
#include "protocol/names.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueReader;

constexpr std::int64_t kMostGaps = 1'000;

Status bad(std::string text) {
  return {ErrorCode::BAD_REQUEST, std::move(text)};
}

Status nothing_known(const std::string& name) {
  return {ErrorCode::NO_SEQUENCE, "this daemon has never had a range of \"" + name + "\""};
}

// The name that every one of these methods takes first; of a sequence with periods, that of the
// present one, under which the history knows it.
Result<std::string_view> read_name(const MethodContext& context, const Message& message,
                                   ValueReader& params, const char* usage) {
  const std::optional<std::string_view> name =
      message.param_count >= 1 ? params.read_text() : std::nullopt;
  if (!name) return bad(usage);
  if (context.history == nullptr)
    return Status(ErrorCode::UNAVAILABLE, "this daemon keeps no history");
  if (const auto problem = protocol::check_name_with_period(*name, context.limits.name)) {
    return Status(problem->code, std::string(problem->text));
  }
  if (find_inserting(context, *name) != nullptr) return inserts_only(*name);
  const SequenceId sequence = context.table.find(*name);
  if (sequence != 0) return std::string_view(context.table.at(sequence).name());
  return *name;
}

Status read_gap_options(ValueReader& params, GapsQuestion& question) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return bad("options must be a map");
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    const std::optional<std::int64_t> value = key ? params.read_integer() : std::nullopt;
    if (value && *value >= 0 && *key == "after") {
      question.after = *value;
    } else if (value && *value >= 1 && *value <= kMostGaps && *key == "limit") {
      question.limit = *value;
    } else {
      return bad(
          "the options are \"after\", the number of a gap, and \"limit\", an integer within "
          "1.." +
          std::to_string(kMostGaps));
    }
  }
  return {};
}

// Asks the store what the counter is, if it can be asked; else says why not.
template <typename Done>
void read_counter(SequenceTable& table, SequenceId sequence, Done done) {
  const Sequence& asked = table.at(sequence);
  const StoreScope& scope = asked.scope();
  if (scope.store() == nullptr) {
    return done(Status(ErrorCode::CONFIG,
                       "the store \"" + scope.store_name() + "\" is not configured any more"));
  }
  if (!scope.last_error().ok()) return done(scope.last_error());
  scope.store()->read({asked.settings().binding, scope.instance()}, std::move(done));
}

void take_counter(Result<CounterReading> counter, std::optional<CounterReading>& reading,
                  Status& why) {
  why = counter.status();
  if (counter.ok()) reading = *counter;
}

// Which position was meant: of a value that comes again the newest that has been issued here. Not
// all numbers are IDs of the sequence.
Status find_position(const SequenceTable& table, const std::string& name, IdFacts& facts) {
  facts.id = facts.value;
  facts.shape = shape_of(table, name);
  if (facts.shape == nullptr)
    return facts.value >= 1 ? Status() : bad("explain takes a name and an ID, which is at least 1");
  const Sequence& sequence = table.at(table.find(name));
  const auto place = facts.shape->find(facts.value, sequence.next_id().value_or(sequence.guard()));
  if (!place) return facts.shape->no_id(name, facts.value);
  facts.id = place->position;
  facts.times = place->times;
  return {};
}

void core_facts(const SequenceTable& table, const std::string& name, IdFacts& facts) {
  const SequenceId sequence = table.find(name);
  if (sequence == 0) return;
  facts.served = true;
  facts.guard = table.at(sequence).guard();
  for (const HeldRanges::Held& held : table.at(sequence).held().ranges()) {
    if (facts.id < held.range.begin() || facts.id >= held.range.end()) continue;
    facts.in_hand = true;
    facts.lease = held.lease;
  }
  const std::optional<ReturnOpened>& open = table.at(sequence).draining().open_return();
  facts.on_its_way = open && open->begin <= facts.id && facts.id < open->end;
}

}  // namespace

void method_gaps(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const auto name =
      read_name(context, message, params, "gaps takes a name and, if need be, a map of options");
  if (!name.ok()) return answer_error(session, message.msgid, name.status());
  GapsQuestion question;
  question.name = std::string(*name);
  Status status = message.param_count > 2    ? bad("gaps takes a name and a map of options")
                  : message.param_count == 2 ? read_gap_options(params, question)
                                             : Status();
  if (!status.ok()) return answer_error(session, message.msgid, status);
  const Later reply = later(context, session, message, *name);
  asked(session, message,
        context.history->ask_gaps(question, [reply](const Result<GapsAnswer>& answer) {
          if (!answer.ok()) return reply.fail(answer.status());
          if (!answer->known && reply.table.find(reply.name) == 0)
            return reply.fail(nothing_known(reply.name));
          const Shape shape = shape_of(reply.table, reply.name);
          reply.result(
              [&](protocol::Buffer& out) { pack_gaps(out, reply.name, shape.get(), *answer); });
        }));
}

void method_explain(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const char* usage = "explain takes a name and an ID";
  const auto name = read_name(context, message, params, usage);
  if (!name.ok()) return answer_error(session, message.msgid, name.status());
  const std::optional<std::int64_t> id = params.read_integer();
  if (message.param_count != 2 || !id) return answer_error(session, message.msgid, bad(usage));
  const Later reply = later(context, session, message, *name);
  auto facts = std::make_shared<IdFacts>();
  facts->value = *id;
  if (Status found = find_position(context.table, reply.name, *facts); !found.ok())
    return answer_error(session, message.msgid, found);
  core_facts(context.table, reply.name, *facts);
  const auto answer = [reply, facts] {
    reply.result([&](protocol::Buffer& out) { pack_explanation(out, reply.name, *facts); });
  };
  asked(session, message,
        context.history->ask_id(
            reply.name, facts->id, [reply, facts, answer](Result<IdAnswer> found) {
              if (!found.ok()) return reply.fail(found.status());
              if (!found->known && !facts->served) return reply.fail(nothing_known(reply.name));
              facts->history = std::move(*found);
              const SequenceId sequence = reply.table.find(reply.name);
              if (!needs_store(*facts) || sequence == 0) return answer();
              read_counter(reply.table, sequence, [facts, answer](Result<CounterReading> counter) {
                take_counter(std::move(counter), facts->counter, facts->store);
                answer();
              });
            }));
}

void method_audit(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const auto name = read_name(context, message, params, "audit takes a name");
  if (!name.ok()) return answer_error(session, message.msgid, name.status());
  if (message.param_count != 1)
    return answer_error(session, message.msgid, bad("audit takes a name"));
  const Later reply = later(context, session, message, *name);
  const SequenceId sequence = context.table.find(reply.name);
  if (sequence == 0) return answer_error(session, message.msgid, nothing_known(reply.name));
  auto facts = std::make_shared<AuditFacts>();
  const std::int64_t now_s = context.clock.wall_ms() / 1'000;
  const auto now = [reply, facts, sequence, now_s] {
    if (!reply.table.is_there(sequence)) return;
    const Sequence& audited = reply.table.at(sequence);
    const PeriodSettings& periods = audited.settings().periods;
    facts->may_be_removed = periods.current && may_be_removed(periods, *periods.current, now_s);
    facts->totals = audited.totals();
    facts->in_hand = audited.in_hand();
    facts->on_its_way = audited.draining().on_its_way();
    facts->guard = audited.guard();
    facts->shape = audited.settings().shape.made;
  };
  asked(session, message, context.history->ask_sums(reply.name, now, [=](Result<SumsAnswer> sums) {
    if (!sums.ok()) return reply.fail(sums.status());
    if (!reply.table.is_there(sequence)) return reply.fail(nothing_known(reply.name));
    facts->history = *sums;
    read_counter(reply.table, sequence, [reply, facts](Result<CounterReading> counter) {
      take_counter(std::move(counter), facts->counter, facts->store);
      reply.result([&](protocol::Buffer& out) { pack_audit(out, reply.name, *facts); });
    });
  }));
}

}  // namespace seqd

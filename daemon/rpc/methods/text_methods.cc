// next_text and parse: IDs as text, and back.
#include <algorithm>
#include <optional>
#include <string>

#include "daemon/base/assertion.h"
#include "daemon/core/names/id_form.h"
#include "daemon/core/text/id_format.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;

void pack_date(Packer& packer, const IdDate& date) {
  constexpr std::pair<DatePart, const char*> kNames[] = {
      {DatePart::year, "year"},
      {DatePart::month, "month"},
      {DatePart::day, "day"},
      {DatePart::day_of_year, "day_of_year"},
      {DatePart::week_year, "week_year"},
      {DatePart::week, "week"},
      {DatePart::weekday, "weekday"},
      {DatePart::hour, "hour"},
      {DatePart::minute, "minute"},
      {DatePart::second, "second"},
  };
  std::uint32_t known = 0;
  for (const auto& [part, name] : kNames) known += date.get(part) ? 1 : 0;
  packer.pack("date");
  packer.pack_map(known);
  for (const auto& [part, name] : kNames) {
    if (date.get(part)) pack_pair(packer, name, *date.get(part));
  }
}

}  // namespace

void method_next_text(const MethodContext& context, Session& session, const Message& message) {
  const std::uint32_t msgid = message.msgid;
  const Result<NextParameters> parameters = read_next(message, "next_text");
  if (!parameters.ok()) return answer_error(session, msgid, parameters.status());
  const Result<SequenceId> found = look_up(context, session, msgid, parameters->name);
  if (!found.ok()) return answer_error(session, msgid, found.status());
  if (!is_fresh(context, session, msgid, *found, IssueKind::text, 1)) return;
  Sequence& sequence = context.table.at(*found);
  if (sequence.stop_cause() == StopCause::none) {
    const Result<std::optional<TextForm>> form = context.table.admit_text(*found);
    if (!form.ok()) return answer_error(session, msgid, form.status());
    const std::int64_t wall_s = context.clock.wall_ms() / 1'000;
    std::int64_t id = 0;
    if (*form && sequence.issue_one(session.caller(msgid), &id, {IssueKind::text, **form, wall_s}))
      return answer_text(sequence, session, msgid, id, wall_s);
  }
  wait_for(context, session, msgid, *found, IssueKind::text, 1, parameters->timeout_ms);
}

void method_parse(const MethodContext& context, Session& session, const Message& message) {
  protocol::ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count == 2 ? params.read_text() : std::nullopt;
  const std::optional<std::string_view> text = name ? params.read_text() : std::nullopt;
  if (!text) {
    return answer_error(session, message.msgid,
                        {ErrorCode::BAD_REQUEST, "parse takes a name and a text"});
  }
  if (const Status status = check_name(context.limits, *name); !status.ok()) {
    return answer_error(session, message.msgid, status);
  }
  const std::shared_ptr<const IdFormat> format = context.table.format_of(*name);
  const SequenceId id = context.table.find(*name);
  if (format == nullptr && id != 0 &&
      context.table.at(id).settings().progression.compiled != nullptr)
    return answer_error(session, message.msgid, no_format(*name, context.table.at(id).settings()));
  if (format == nullptr) {
    return answer_error(session, message.msgid,
                        {ErrorCode::NO_SEQUENCE, "\"" + std::string(*name) +
                                                     "\" is not configured; add [sequence.\"" +
                                                     std::string(*name) + "\"]"});
  }
  const Result<ParsedId> parsed = format->read(std::string(*name), *text);
  if (!parsed.ok()) return answer_error(session, message.msgid, parsed.status());
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(4);
  pack_pair(packer, "number", parsed->number);
  pack_text(packer, "period", parsed->date.period());
  pack_date(packer, parsed->date);
  pack_text(packer, "check", word_of(format->check()));
}

}  // namespace seqd

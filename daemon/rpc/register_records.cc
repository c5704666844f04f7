#include "daemon/rpc/register_records.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/core/text/id_format.h"
#include "daemon/core/text/period_name.h"
#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/rights.h"

namespace seqd {
namespace {

void pack_stamp(Packer& packer, const Stamp& stamp) {
  packer.pack_map(2);
  pack_pair(packer, "at_ms", stamp.at_ms);
  pack_said(packer, "by", stamp.by);
}

// A sentence for people.
std::string sentence_of(const NumberRecord& record) {
  const FormerKey* const last = record.former.empty() ? nullptr : &record.former.back();
  const std::string assigned = "\"" + record.key + "\", assigned by " + record.assigned.by;
  switch (record.state) {
    case NumberState::assigned:
      return "it belongs to the key " + assigned + "; whether its document exists is not recorded";
    case NumberState::confirmed:
      return "it belongs to the key " + assigned + ", and " + record.confirmed.by +
             " said that its document exists";
    case NumberState::voided:
    case NumberState::free:
      break;
  }
  const std::string what =
      record.state == NumberState::free ? "free for the next key" : "void, and belongs to no key";
  if (last == nullptr) return "it is " + what;
  const std::string whom = last->key.empty() ? "" : " for the key \"" + last->key + "\"";
  return "it is " + what + ": cancelled" + whom + " by " + last->cancelled.by + ": " + last->reason;
}

// The number that was asked for; `name`: with its period where a text has one.
Result<std::int64_t> read_number(const MethodContext& context, protocol::ValueReader& params,
                                 std::string& name) {
  protocol::ValueReader as_text = params;
  if (const auto number = params.read_integer())
    return *number >= 1 ? Result<std::int64_t>(*number) : bad_request("a number is at least 1");
  const std::optional<std::string_view> text = as_text.read_text();
  if (!text) return bad_request("explain takes a name, and a number or a text of one");
  const std::string base(base_of(name));
  const std::shared_ptr<const IdFormat> format = context.table.format_of(base);
  if (format == nullptr)
    return Status(ErrorCode::CONFIG, "\"" + base + "\" has no format; use the number");
  const Result<ParsedId> parsed = format->read(base, *text);
  if (!parsed.ok()) return parsed.status();
  if (const auto unit = context.registers->period_unit(base)) {
    const std::string period = period_told(*unit, parsed->date);
    if (!period.empty()) name = period_sequence(base, period);
  }
  return parsed->number;
}

}  // namespace

std::string stamp_of(const MethodContext& context, const Session& session) {
  if (context.registers == nullptr) return "";
  return context.registers->host() + ":" + std::to_string(session.peer.uid) + ":" +
         std::to_string(session.peer.pid);
}

bool is_of(const Stamp& stamp, UserId user) {
  const std::string_view by = stamp.by;
  const std::size_t end = by.rfind(':');
  if (end == by.npos || end == 0) return false;
  const std::size_t begin = by.rfind(':', end - 1);
  if (begin == by.npos) return false;
  UserId found = 0;
  const auto [last, error] = std::from_chars(by.data() + begin + 1, by.data() + end, found);
  return error == std::errc() && last == by.data() + end && found == user;
}

void pack_record(Packer& packer, const NumberRecord& record) {
  packer.pack_map(8);
  pack_pair(packer, "number", record.number);
  pack_said(packer, "text", record.text);
  pack_text(packer, "period", record.period);
  pack_pair(packer, "state", std::string_view(number_state_word(record.state)));
  pack_said(packer, "key", record.key);
  packer.pack("assigned");
  pack_stamp(packer, record.assigned);
  packer.pack("confirmed");
  if (record.state == NumberState::confirmed) {
    pack_stamp(packer, record.confirmed);
  } else {
    packer.pack_nil();
  }
  packer.pack("former");
  packer.pack_array(static_cast<std::uint32_t>(record.former.size()));
  for (const FormerKey& former : record.former) {
    packer.pack_map(4);
    pack_said(packer, "key", former.key);
    packer.pack("assigned");
    pack_stamp(packer, former.assigned);
    packer.pack("cancelled");
    pack_stamp(packer, former.cancelled);
    pack_said(packer, "reason", former.reason);
  }
}

void explain_number(const MethodContext& context, Session& session,
                    const protocol::Message& message, std::string_view name,
                    protocol::ValueReader params) {
  std::string whole(name);
  const Result<std::int64_t> number = read_number(context, params, whole);
  if (!number.ok()) return answer_error(session, message.msgid, number.status());
  const bool sees_all = may_administer(context.control, session.peer).given;
  Registers::Page page;
  page.after = *number - 1;
  page.limit = 1;
  auto answer = [reply = defer(context, session, message, whole), id = *number, sees_all,
                 user = session.peer.uid](const Result<std::vector<NumberRecord>>& found) {
    if (!found.ok()) return reply.fail(found.status());
    const bool is_there = !found->empty() && found->front().number == id;
    const bool is_seen = is_there && (sees_all || is_of(found->front().assigned, user));
    if (is_there && !is_seen) {
      return reply.fail({ErrorCode::DENIED, "the number " + std::to_string(id) + " of \"" +
                                                reply.name + "\" was assigned by another user"});
    }
    reply.result([&](protocol::Buffer& out) {
      Packer packer(out);
      packer.pack_map(5);
      pack_pair(packer, "name", reply.name);
      pack_pair(packer, "id", id);
      pack_pair(packer, "answer",
                is_there ? std::string_view(number_state_word(found->front().state))
                         : std::string_view("not_issued"));
      pack_said(packer, "text", is_there ? sentence_of(found->front()) : "no key has got it yet");
      packer.pack("record");
      if (is_there) {
        pack_record(packer, found->front());
      } else {
        packer.pack_nil();
      }
    });
  };
  asked(session, message,
        context.registers->list(whole, page, {session.id, session.peer.uid}, std::move(answer)));
}

}  // namespace seqd

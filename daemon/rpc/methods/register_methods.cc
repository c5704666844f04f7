// assign, confirm, cancel, close, records: a register, where each number belongs to a key of the
// caller. Every request may be sent again, by any host: a number is found by its key.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/words/sequence_name.h"
#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/register_records.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/limits.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueKind;
using protocol::ValueReader;
using Kind = RegisterQueue::Wanted::Kind;
using Answer = RegisterAnswer::Kind;

constexpr std::size_t kMostKeyBytes = 256;
constexpr std::int64_t kMostRecords = 500;

// --- parameters

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool is_plain(std::string_view text) {
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  return protocol::is_utf8(text);
}

// A UUID and an ObjectId as bytes are the keys that their usual texts are.
Result<std::string> read_key(ValueReader& params) {
  const bool is_binary = params.kind() == ValueKind::binary;
  const std::optional<std::string_view> bytes = params.read_text();
  if (bytes && is_binary && bytes->size() == 12) return hex(*bytes);
  if (bytes && is_binary && bytes->size() == 16) {
    std::string text = hex(*bytes);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, "-");
    return text;
  }
  if (bytes && !is_binary && !bytes->empty() && bytes->size() <= kMostKeyBytes && is_plain(*bytes))
    return std::string(*bytes);
  return bad_request("a key is a text of 1 to " + std::to_string(kMostKeyBytes) +
                     " bytes in UTF-8 without control characters, or binary: the 16 bytes of a "
                     "UUID, or the 12 of an ObjectId");
}

Result<std::string> read_reason(ValueReader& params) {
  const std::optional<std::string_view> reason = params.read_text();
  if (reason && !reason->empty() && reason->size() <= kMostKeyBytes && is_plain(*reason))
    return std::string(*reason);
  return bad_request("a cancel needs a reason: a text of 1 to " + std::to_string(kMostKeyBytes) +
                     " bytes in UTF-8 without control characters");
}

Status read_options(ValueReader& params, RegisterQueue::Wanted& wanted) {
  const bool has_number = wanted.kind == Kind::confirm || wanted.kind == Kind::cancel;
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return bad_request("options must be a map");
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    const std::optional<std::int64_t> value = key ? params.read_integer() : std::nullopt;
    if (key == "timeout_ms" && value && *value >= 0 && *value <= protocol::kMaxTimeoutMs) {
      wanted.timeout_ms = *value;
    } else if (has_number && key == "number" && value && *value > 0) {
      wanted.number = *value;
    } else {
      return bad_request("the options are \"timeout_ms\", an integer within 0.." +
                         std::to_string(protocol::kMaxTimeoutMs) +
                         (has_number ? ", and \"number\", an integer above 0" : ""));
    }
  }
  return {};
}

struct Asked {
  std::string_view name;
  RegisterQueue::Wanted wanted;
};

// [name, key, reason, options]: what the method has of them; the options may be left out.
Result<Asked> read_asked(const MethodContext& context, const Message& message, Kind kind) {
  const bool has_key = kind != Kind::close;
  const bool has_reason = kind == Kind::cancel;
  const std::uint32_t least = 1U + (has_key ? 1U : 0U) + (has_reason ? 1U : 0U);
  const Status usage =
      bad_request(std::string(message.method) + " takes a name" + (has_key ? ", a key" : "") +
                  (has_reason ? ", a reason" : "") + " and, optionally, a map of options");
  if (message.param_count < least || message.param_count > least + 1) return usage;
  ValueReader params = message.params;
  const std::optional<std::string_view> name = params.read_text();
  if (!name) return usage;
  if (Status status = check_name_with_period(context.limits, *name); !status.ok()) return status;
  Asked asked;
  asked.name = *name;
  asked.wanted.kind = kind;
  if (has_key) {
    auto key = read_key(params);
    if (!key.ok()) return key.status();
    asked.wanted.key = std::move(*key);
  }
  if (has_reason) {
    auto reason = read_reason(params);
    if (!reason.ok()) return reason.status();
    asked.wanted.reason = std::move(*reason);
  }
  if (message.param_count == least) return asked;
  if (Status status = read_options(params, asked.wanted); !status.ok()) return status;
  return asked;
}

// --- answers

Status error_of(const RegisterAnswer& answer, const std::string& name, const std::string& key) {
  const std::string number = std::to_string(answer.record.number);
  switch (answer.kind) {
    case Answer::done:
    case Answer::elsewhere:
      return {};
    case Answer::no_key:
      return {ErrorCode::NO_KEY,
              "\"" + key + "\" has no number in \"" + name + "\"; to give it one use assign"};
    case Answer::cancelled:
      return {ErrorCode::NO_KEY, "the number " + number + " of \"" + name +
                                     "\" was cancelled for \"" + key +
                                     "\" before; to give it another one use assign"};
    case Answer::confirmed:
      return {ErrorCode::KEY_CONFIRMED,
              "the number " + number + " of \"" + name + "\" is confirmed for \"" + key +
                  "\", so its document exists; a document that undoes it (a credit note) has a "
                  "number of its own"};
    case Answer::denied:
      return {ErrorCode::DENIED, "the number " + number + " of \"" + name +
                                     "\" was assigned by another user; that user and "
                                     "administrators may confirm and cancel it"};
    case Answer::closed:
      return {ErrorCode::SEQ_PERIOD_CLOSED,
              "\"" + name + "\" is closed, and gets no more numbers; name a later period"};
    case Answer::exhausted:
      return {ErrorCode::EXHAUSTED,
              "\"" + name + "\" has reached its maximum (sequence.max_value)"};
  }
  return {};
}

// True: it may go on; else it is answered. Administrators need no right to take numbers, but for
// that.
bool check_register(const MethodContext& context, Session& session, const Message& message,
                    std::string_view name) {
  const bool takes = message.method == "assign";
  const bool administers = !takes && may_administer(context.control, session.peer).given;
  Status status = administers ? Status() : check_may_take(context, session.peer, base_of(name));
  if (status.ok() && context.registers == nullptr)
    status = {ErrorCode::CONFIG, "this daemon keeps no registers"};
  if (!status.ok()) answer_error(session, message.msgid, status);
  return status.ok();
}

void ask(const MethodContext& context, Session& session, const Message& message, Kind kind) {
  Result<Asked> read = read_asked(context, message, kind);
  if (!read.ok()) return answer_error(session, message.msgid, read.status());
  if (!check_register(context, session, message, read->name)) return;
  RegisterQueue::Wanted& wanted = read->wanted;
  wanted.by = stamp_of(context, session);
  wanted.session = session.id;
  wanted.user = session.peer.uid;
  const bool administers = may_administer(context.control, session.peer).given;
  if (!administers && (kind == Kind::confirm || kind == Kind::cancel)) {
    wanted.allowed = [user = session.peer.uid](const NumberRecord& record) {
      return is_of(record.assigned, user);
    };
  }
  wanted.done = [reply = defer(context, session, message, read->name), key = wanted.key,
                 kind](const Result<RegisterAnswer>& answer) {
    if (!answer.ok()) return reply.fail(answer.status());
    if (Status error = error_of(*answer, reply.name, key); !error.ok()) return reply.fail(error);
    reply.answer([&](Session& found) {
      if (kind == Kind::assign) ++found.ids;
      protocol::begin_result(found.out, reply.msgid);
      Packer packer(found.out);
      if (kind == Kind::close) {
        packer.pack(answer->record.number);
      } else {
        pack_record(packer, answer->record);
      }
    });
  };
  const std::string name(read->name);
  const Status status = context.registers->ask(name, std::move(wanted));
  if (status.ok() && kind == Kind::close)
    raise_administered(context, session, "close", "SEQUENCE", name);
  asked(session, message, status);
}

// --- records

Result<Registers::Page> read_page(ValueReader& params) {
  const Status usage = bad_request(
      "the options are \"after\", a number; \"limit\", 1 to " + std::to_string(kMostRecords) +
      "; and \"state\": \"assigned\", \"confirmed\", \"void\" or \"free\"");
  Registers::Page page;
  page.limit = 100;
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return usage;
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (key == "state") {
      const std::optional<std::string_view> word = params.read_text();
      page.state.reset();
      for (const NumberState state : {NumberState::assigned, NumberState::confirmed,
                                      NumberState::voided, NumberState::free}) {
        if (word == number_state_word(state)) page.state = state;
      }
      if (!page.state) return usage;
      continue;
    }
    const std::optional<std::int64_t> value = key ? params.read_integer() : std::nullopt;
    if (key == "after" && value && *value >= 0) {
      page.after = *value;
    } else if (key == "limit" && value && *value >= 1 && *value <= kMostRecords) {
      page.limit = static_cast<std::size_t>(*value);
    } else {
      return usage;
    }
  }
  return page;
}

// Whether records were left out, so that the reply has not many times the bytes of most.
bool cut_to_reply(std::vector<NumberRecord>& records) {
  constexpr std::size_t kMostBytes = 1 << 20;
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < records.size(); ++at) {
    const NumberRecord& record = records[at];
    bytes += 256 + record.key.size() + record.text.size();
    for (const FormerKey& former : record.former)
      bytes += 128 + former.key.size() + former.reason.size();
    if (bytes <= kMostBytes || at == 0) continue;
    records.resize(at);
    return true;
  }
  return false;
}

}  // namespace

void method_assign(const MethodContext& context, Session& session, const Message& message) {
  ask(context, session, message, Kind::assign);
}

void method_confirm(const MethodContext& context, Session& session, const Message& message) {
  ask(context, session, message, Kind::confirm);
}

void method_cancel(const MethodContext& context, Session& session, const Message& message) {
  ask(context, session, message, Kind::cancel);
}

void method_close(const MethodContext& context, Session& session, const Message& message) {
  ask(context, session, message, Kind::close);
}

// Users see the numbers that they assigned, administrators all of them.
void method_records(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count >= 1 && message.param_count <= 2 ? params.read_text() : std::nullopt;
  if (!name) {
    return answer_error(session, message.msgid,
                        bad_request("records takes a name and, optionally, a map of options"));
  }
  if (const Status status = check_name_with_period(context.limits, *name); !status.ok())
    return answer_error(session, message.msgid, status);
  Registers::Page page;
  page.limit = 100;
  if (message.param_count == 2) {
    const Result<Registers::Page> read = read_page(params);
    if (!read.ok()) return answer_error(session, message.msgid, read.status());
    page = *read;
  }
  if (!check_register(context, session, message, *name)) return;
  const bool sees_all = may_administer(context.control, session.peer).given;
  asked(session, message,
        context.registers->list(
            *name, page, {session.id, session.peer.uid},
            [reply = defer(context, session, message, *name), limit = page.limit, sees_all,
             user = session.peer.uid](Result<std::vector<NumberRecord>> found) {
              if (!found.ok()) return reply.fail(found.status());
              const bool cut = cut_to_reply(*found);
              const bool more = cut || found->size() == limit;
              const std::int64_t after = more ? found->back().number : 0;
              if (!sees_all) {
                std::erase_if(*found, [user](const NumberRecord& record) {
                  return !is_of(record.assigned, user);
                });
              }
              reply.result([&](protocol::Buffer& out) {
                Packer packer(out);
                packer.pack_map(2);
                packer.pack("records");
                packer.pack_array(static_cast<std::uint32_t>(found->size()));
                for (const NumberRecord& record : *found) pack_record(packer, record);
                packer.pack("after");
                if (more) {
                  packer.pack(after);
                } else {
                  packer.pack_nil();
                }
              });
            }));
}

}  // namespace seqd

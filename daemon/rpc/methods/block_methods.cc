// page, block and end_block: the methods by which clients take IDs in their own processes.
#include <optional>
#include <string>

#include "daemon/rpc/issuing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "protocol/block_slot.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueReader;

static_assert(Block::kPageSlots == protocol::kBlockSlots);
constexpr std::int64_t kMostAsked = 1'000'000'000;  // IDs of one block

struct BlockParameters {
  std::string_view name;
  std::optional<std::uint32_t> slot;  // none: without a page
  std::int64_t count = 0;
};

struct EndParameters {
  std::string_view name;
  std::uint32_t block = 0;  // the request that it was granted to
  std::int64_t taken = 0;
};

Status bad(std::string text) {
  return {ErrorCode::BAD_REQUEST, std::move(text)};
}

// Blocks belong to clients that can be known again.
Status check_identity(const Session& session, std::uint32_t msgid, std::string_view method) {
  if (session.client == 0) {
    return bad(std::string(method) + " requires a client with an identity (hello with \"client\")");
  }
  return msgid != 0 ? Status() : bad("the request numbers of a client with an identity begin at 1");
}

Result<BlockParameters> read_block(const Message& message) {
  ValueReader params = message.params;
  const bool three = message.param_count == 3;
  const std::optional<std::string_view> name = three ? params.read_text() : std::nullopt;
  BlockParameters out{name.value_or(""), {}, 0};
  const bool with_page = name && !params.read_nil();
  bool good = name.has_value();
  if (with_page) {
    const std::int64_t slot = params.read_integer().value_or(-1);
    good = slot >= 0 && slot < protocol::kBlockSlots;
    out.slot = static_cast<std::uint32_t>(slot);
  }
  if (good) out.count = params.read_integer().value_or(0);
  if (out.count >= 1 && out.count <= kMostAsked) return out;
  return bad("block takes a name, a slot within 0.." + std::to_string(protocol::kBlockSlots - 1) +
             " (nil: a block without a page) and a count within 1.." + std::to_string(kMostAsked));
}

Result<EndParameters> read_end(const Message& message) {
  constexpr std::int64_t kLastRequest = 0xffff'ffff;
  ValueReader params = message.params;
  const bool three = message.param_count == 3;
  const std::optional<std::string_view> name = three ? params.read_text() : std::nullopt;
  const std::optional<std::int64_t> block = name ? params.read_integer() : std::nullopt;
  const std::optional<std::int64_t> taken = block ? params.read_integer() : std::nullopt;
  if (!taken || *block < 1 || *block > kLastRequest || *taken < 0) {
    return bad(
        "end_block takes a name, the request number of the block and how many of its IDs are "
        "taken");
  }
  return EndParameters{*name, static_cast<std::uint32_t>(*block), *taken};
}

std::string_view base_name(const MethodContext& context, const Block& block) {
  return base_of(context.table.at(block.granted.sequence).name());
}

void answer_block(Session& session, std::uint32_t msgid, std::int64_t first, std::int64_t count) {
  protocol::begin_result(session.out, msgid);
  Packer packer(session.out);
  packer.pack_array(3);
  packer.pack(first);
  packer.pack(1);
  packer.pack(count);
}

Status check_has_blocks(const Sequence& sequence, bool with_page) {
  const SequenceSettings& settings = sequence.settings();
  const bool has_periods = base_of(sequence.name()) != sequence.name();
  // Nothing would tell its client that the period is over.
  if (settings.blocks && has_periods && !with_page) {
    return {ErrorCode::WRONG_MODE, "\"" + std::string(base_of(sequence.name())) +
                                       "\" has periods, and so no blocks without a page; take its "
                                       "IDs with next or range"};
  }
  if (settings.blocks && settings.progression.compiled == nullptr) return {};
  return {ErrorCode::WRONG_MODE,
          "\"" + std::string(base_of(sequence.name())) +
              "\" has no blocks (sequence.blocks); take its IDs with next or range"};
}

// Where the block of request `msgid` lies: in this slot of the client's page, or without a page.
Result<std::uint32_t> slot_for(const MethodContext& context, const Session& session,
                               std::uint32_t msgid, std::optional<std::uint32_t> slot) {
  BlockTable& blocks = context.table.blocks();
  if (slot) {
    const Status may = blocks.may_grant(session.client, session.peer.uid);
    return may.ok() ? Result<std::uint32_t>(*slot) : Result<std::uint32_t>(may);
  }
  // Its client has a reply, and may have ended that block: an acknowledged number names no other
  // one. Another one does, after its block has ended; a client repeats no request that it ended.
  if (context.table.replays().is_acknowledged(session.client, msgid))
    return bad("request " + std::to_string(msgid) + " was acknowledged");
  return blocks.free_slot(session.client, session.peer.uid);
}

}  // namespace

void method_page(const MethodContext& context, Session& session, const Message& message) {
  Status allowed = check_identity(session, message.msgid, "page");
  if (allowed.ok() && message.param_count != 0) allowed = bad("page takes no parameters");
  // Shared memory of the system is scarce: no page without a use.
  if (allowed.ok() && !context.limits.blocks) {
    allowed = {
        ErrorCode::WRONG_MODE,
        "no sequence of this daemon has blocks (sequence.blocks); take IDs with next or range"};
  }
  if (!allowed.ok()) return answer_error(session, message.msgid, allowed);
  const Result<PageAddress> page =
      context.table.blocks().open_page(session.client, session.peer.uid);
  if (!page.ok()) return answer_error(session, message.msgid, page.status());
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_array(4);
  packer.pack(protocol::kBlockSlots);
  packer.pack(protocol::kBlockSlotBytes);
  packer.pack(page->key);
  packer.pack(page->maker);
}

void method_block(const MethodContext& context, Session& session, const Message& message) {
  const std::uint32_t msgid = message.msgid;
  if (Status known = check_identity(session, msgid, "block"); !known.ok())
    return answer_error(session, msgid, known);
  const Result<BlockParameters> asked = read_block(message);
  if (!asked.ok()) return answer_error(session, msgid, asked.status());
  BlockTable& blocks = context.table.blocks();
  // A repeat: it has not been answered, so nothing was taken of it.
  if (const Block* const out = blocks.granted_to(session.client, msgid)) {
    const bool same_slot = asked->slot ? out->granted.slot == *asked->slot : !out->has_page();
    if (!same_slot || base_name(context, *out) != asked->name) {
      return answer_error(
          session, msgid,
          bad("request " + std::to_string(msgid) + " of this client was another request"));
    }
    return answer_block(session, msgid, out->granted.begin, out->size());
  }
  if (blocks.was_lost(session.client, msgid)) {
    return answer_error(session, msgid,
                        {ErrorCode::UNAVAILABLE,
                         "the block of this request ended with its page, which the daemon did not "
                         "find when it started; send page and a new request"});
  }
  const Result<SequenceId> id = look_up(context, session, msgid, asked->name);
  if (!id.ok()) return answer_error(session, msgid, id.status());
  // Whatever becomes of this request, the client does not take from the slot any more.
  if (asked->slot) blocks.end_slot(session.client, *asked->slot);
  Sequence& sequence = context.table.at(*id);
  Status allowed = check_has_blocks(sequence, asked->slot.has_value());
  const Result<std::uint32_t> slot = allowed.ok() ? slot_for(context, session, msgid, asked->slot)
                                                  : Result<std::uint32_t>(allowed);
  if (!slot.ok()) return answer_error(session, msgid, slot.status());
  const Result<Run> run = sequence.grant_block(session.caller(msgid), *slot, asked->count);
  if (!run.ok()) return answer_error(session, msgid, run.status());
  answer_block(session, msgid, run->first, run->count);
}

// A repeat finds no block, so it changes nothing.
void method_end_block(const MethodContext& context, Session& session, const Message& message) {
  const std::uint32_t msgid = message.msgid;
  if (Status known = check_identity(session, 1, "end_block"); !known.ok())
    return answer_error(session, msgid, known);
  const Result<EndParameters> asked = read_end(message);
  if (!asked.ok()) return answer_error(session, msgid, asked.status());
  BlockTable& blocks = context.table.blocks();
  const std::string block = "the block of request " + std::to_string(asked->block);
  const Block* const out = blocks.granted_to(session.client, asked->block);
  if (out == nullptr) {
    return answer_error(session, msgid,
                        {ErrorCode::NO_BLOCK,
                         block + " of this client is not out: it was ended before, by this client "
                                 "or by the daemon, or there was none"});
  }
  Status wrong;
  if (out->has_page()) {
    wrong = bad(block + " is in slot " + std::to_string(out->granted.slot) +
                " of a page, which says how many IDs are taken; request the slot again");
  } else if (base_name(context, *out) != asked->name) {
    wrong = bad(block + " is one of \"" + std::string(base_name(context, *out)) + "\"");
  } else if (asked->taken > out->size()) {
    wrong = bad(block + " has " + std::to_string(out->size()) + " IDs, and no more can be taken");
  }
  if (!wrong.ok()) return answer_error(session, msgid, wrong);
  const std::int64_t available = out->size() - asked->taken;
  blocks.end_told(out->key(), asked->taken);
  protocol::begin_result(session.out, msgid);
  Packer(session.out).pack(available);
}

}  // namespace seqd

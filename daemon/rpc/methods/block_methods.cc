// page and block: the methods by which clients take IDs in their own processes.
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

constexpr std::int64_t kMostAsked = 1'000'000'000;  // IDs of one block

struct BlockParameters {
  std::string_view name;
  std::uint32_t slot = 0;
  std::int64_t count = 0;
};

// Blocks belong to clients that can be known again.
Status check_identity(const Session& session, std::uint32_t msgid, std::string_view method) {
  if (session.client == 0) {
    return bad_request(std::string(method) +
                       " requires a client with an identity (hello with \"client\")");
  }
  return msgid != 0 ? Status()
                    : bad_request("the request numbers of a client with an identity begin at 1");
}

Result<BlockParameters> read_block(const Message& message) {
  ValueReader params = message.params;
  const bool three = message.param_count == 3;
  const std::optional<std::string_view> name = three ? params.read_text() : std::nullopt;
  const std::optional<std::int64_t> slot = name ? params.read_integer() : std::nullopt;
  const std::optional<std::int64_t> count = slot ? params.read_integer() : std::nullopt;
  if (!count || *slot < 0 || *slot >= protocol::kBlockSlots || *count < 1 || *count > kMostAsked) {
    return bad_request("block takes a name, a slot within 0.." +
                       std::to_string(protocol::kBlockSlots - 1) + " and a count within 1.." +
                       std::to_string(kMostAsked));
  }
  return BlockParameters{*name, static_cast<std::uint32_t>(*slot), *count};
}

void answer_block(Session& session, std::uint32_t msgid, std::int64_t first, std::int64_t count) {
  protocol::begin_result(session.out, msgid);
  Packer packer(session.out);
  packer.pack_array(3);
  packer.pack(first);
  packer.pack(1);
  packer.pack(count);
}

Status check_has_blocks(const Sequence& sequence) {
  const SequenceSettings& settings = sequence.settings();
  if (settings.blocks && settings.progression.compiled == nullptr) return {};
  return {ErrorCode::WRONG_MODE,
          "\"" + std::string(base_of(sequence.name())) +
              "\" has no blocks (sequence.blocks); take its IDs with next or range"};
}

}  // namespace

void method_page(const MethodContext& context, Session& session, const Message& message) {
  Status allowed = check_identity(session, message.msgid, "page");
  if (allowed.ok() && message.param_count != 0) allowed = bad_request("page takes no parameters");
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
    if (out->granted.slot != asked->slot ||
        base_of(context.table.at(out->granted.sequence).name()) != asked->name) {
      return answer_error(
          session, msgid,
          bad_request("request " + std::to_string(msgid) +
                      " was already used for another call; a retry must repeat the same call"));
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
  // The client has stopped taking from the slot, also if this request fails.
  blocks.end_slot(session.client, asked->slot);
  Sequence& sequence = context.table.at(*id);
  Status allowed = check_has_blocks(sequence);
  if (allowed.ok()) allowed = blocks.prepare_grant(session.client, session.peer.uid);
  if (!allowed.ok()) return answer_error(session, msgid, allowed);
  const Result<Run> run = sequence.grant_block(session.caller(msgid), asked->slot, asked->count);
  if (!run.ok()) return answer_error(session, msgid, run.status());
  answer_block(session, msgid, run->first, run->count);
}

}  // namespace seqd

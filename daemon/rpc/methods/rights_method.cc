// rights: what the caller may do, and why: administer, and take IDs of the sequences that it names.
#include <string>
#include <string_view>

#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

constexpr std::size_t kMostNames = 1'000;  // of one request

}  // namespace

void method_rights(const MethodContext& context, Session& session,
                   const protocol::Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "rights takes names, at most " + std::to_string(kMostNames));
  const auto names = read_names(context.limits, message, kMostNames, usage);
  if (!names.ok()) return answer_error(session, message.msgid, names.status());
  const Peer& peer = session.peer;
  const Permission administer = may_administer(context.control, peer);
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(4);
  if (peer.uid == kNoUserOrGroup) {
    pack_nil(packer, "uid");
  } else {
    pack_pair(packer, "uid", peer.uid);
  }
  pack_pair(packer, "administer", administer.given);
  pack_pair(packer, "why", administer.why);
  packer.pack("sequences");
  packer.pack_array(static_cast<std::uint32_t>(names->size()));
  for (const std::string_view name : *names) {
    const Permission take = may_take(context, peer, name);
    packer.pack_map(3);
    pack_pair(packer, "name", name);
    pack_pair(packer, "take", take.given);
    pack_pair(packer, "why", take.why);
  }
}

}  // namespace seqd

// clients: the connections, page by page. Users see their own connections, administrators see all.
#include <optional>
#include <string>
#include <vector>

#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/page_options.h"
#include "daemon/rpc/rights.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;

constexpr std::int64_t kMostConnections = 1'000;  // of one page

using Page = PageOptions<std::int64_t>;

Result<Page> read_page(const Message& message) {
  const Page all{.limit = kMostConnections};
  if (message.param_count == 0) return all;
  protocol::ValueReader params = message.params;
  const auto page =
      message.param_count == 1 ? read_page_options(params, all, kMostConnections) : std::nullopt;
  if (page) return *page;
  return Status(ErrorCode::BAD_REQUEST,
                "clients takes, if need be, a map of options: \"after\", the number of a "
                "connection, and \"limit\", an integer within 1.." +
                    std::to_string(kMostConnections));
}

void pack_connection(Packer& packer, const Session& session, std::int64_t now_ms) {
  packer.pack_map(8);
  pack_pair(packer, "id", session.id);
  if (session.peer.uid == kNoUserOrGroup) {
    pack_nil(packer, "uid");
  } else {
    pack_pair(packer, "uid", session.peer.uid);
  }
  pack_pair(packer, "pid", session.peer.pid);
  pack_text(packer, "name", session.client_name);
  pack_pair(packer, "connected_ms", now_ms - session.opened_ms);
  pack_pair(packer, "requests", session.requests);
  pack_pair(packer, "waiting", session.waiting);
  pack_pair(packer, "ids", session.ids);
}

}  // namespace

void method_clients(const MethodContext& context, Session& session, const Message& message) {
  const Result<Page> page = read_page(message);
  if (!page.ok()) return answer_error(session, message.msgid, page.status());
  const std::vector<const Session*> looked_at = context.sessions.page(
      static_cast<SessionId>(page->after), static_cast<std::size_t>(page->limit));
  const UserId user = session.peer.uid;
  // Several users may share the number of unmapped users.
  const bool all = check_administers(context.control, session.peer, "clients").ok();
  std::vector<const Session*> shown;
  for (const Session* each : looked_at) {
    if (all || (each->peer.uid == user && user != kNoUserOrGroup)) shown.push_back(each);
  }
  const bool more = looked_at.size() == static_cast<std::size_t>(page->limit);
  const std::int64_t now_ms = context.clock.monotonic_ms();
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(3);
  packer.pack("clients");
  packer.pack_array(static_cast<std::uint32_t>(shown.size()));
  for (const Session* each : shown) pack_connection(packer, *each, now_ms);
  pack_pair(packer, "more", more);
  if (more) {
    pack_pair(packer, "after", looked_at.back()->id);
  } else {
    pack_nil(packer, "after");
  }
}

}  // namespace seqd

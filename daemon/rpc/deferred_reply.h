// DeferredReply: a request that is answered in a later turn, from the callback of a store or of the
// history. Holds no session: one that is gone is no error, its answer is dropped. Loop thread;
// `sessions` and `table` outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/rpc/methods.h"
#include "protocol/replies.h"

namespace seqd {

// A request that is answered in a later turn, if its session is still there.
struct DeferredReply {
  Sessions& sessions;
  SequenceTable& table;
  SessionId session = 0;
  std::uint32_t msgid = 0;
  std::string name;

  // `write` puts the reply into the session's output.
  template <typename Write>
  void answer(Write write) const {
    Session* found = sessions.find(session);
    if (found == nullptr) return;
    if (found->waiting > 0) --found->waiting;
    write(*found);
    found->transport.attend();
  }
  // `write` puts the result behind the head of a reply.
  template <typename Write>
  void result(Write write) const {
    answer([&](Session& found) {
      protocol::begin_result(found.out, msgid);
      write(found.out);
    });
  }
  void fail(const Status& status) const {
    answer([&](Session& found) { answer_error(found, msgid, status); });
  }
};

inline DeferredReply defer(const MethodContext& context, const Session& session,
                           const protocol::Message& message, std::string_view name) {
  return {context.sessions, context.table, session.id, message.msgid, std::string(name)};
}

// The query has begun and its request counts as waiting; or it failed, and the status is the reply.
inline void asked(Session& session, const protocol::Message& message, const Status& status) {
  if (!status.ok()) return answer_error(session, message.msgid, status);
  ++session.waiting;
}

}  // namespace seqd

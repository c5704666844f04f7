// The methods one by one, for the router's table. See methods.h.
#pragma once

#include "daemon/rpc/methods.h"

namespace seqd {

void method_next(const MethodContext& context, Session& session, const protocol::Message& message);
void method_range(const MethodContext& context, Session& session, const protocol::Message& message);
void method_next_text(const MethodContext& context, Session& session,
                      const protocol::Message& message);
void method_insert(const MethodContext& context, Session& session,
                   const protocol::Message& message);
void method_parse(const MethodContext& context, Session& session, const protocol::Message& message);
void method_peek(const MethodContext& context, Session& session, const protocol::Message& message);
void method_list(const MethodContext& context, Session& session, const protocol::Message& message);
void method_status(const MethodContext& context, Session& session,
                   const protocol::Message& message);
void method_clients(const MethodContext& context, Session& session,
                    const protocol::Message& message);
void method_rights(const MethodContext& context, Session& session,
                   const protocol::Message& message);
void method_config(const MethodContext& context, Session& session,
                   const protocol::Message& message);
void method_ping(const MethodContext& context, Session& session, const protocol::Message& message);
void method_hello(const MethodContext& context, Session& session, const protocol::Message& message);
void method_ack(const MethodContext& context, Session& session, const protocol::Message& message);
void method_reload(const MethodContext& context, Session& session,
                   const protocol::Message& message);
void method_gaps(const MethodContext& context, Session& session, const protocol::Message& message);
void method_explain(const MethodContext& context, Session& session,
                    const protocol::Message& message);
void method_advance(const MethodContext& context, Session& session,
                    const protocol::Message& message);
void method_advance_store(const MethodContext& context, Session& session,
                          const protocol::Message& message);
void method_drain(const MethodContext& context, Session& session, const protocol::Message& message);
void method_decommission(const MethodContext& context, Session& session,
                         const protocol::Message& message);
void method_purge(const MethodContext& context, Session& session, const protocol::Message& message);
void method_page(const MethodContext& context, Session& session, const protocol::Message& message);
void method_block(const MethodContext& context, Session& session, const protocol::Message& message);
void method_audit(const MethodContext& context, Session& session, const protocol::Message& message);

}  // namespace seqd

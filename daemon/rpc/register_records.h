// The records of a register on the wire: who did something to a number, what a record says, and the
// answer of explain about one. Functions without state; loop thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/rpc/methods.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/session.h"

namespace seqd {

// HOST:USER:PROCESS
std::string stamp_of(const MethodContext& context, const Session& session);
bool is_of(const Stamp& stamp, UserId user);

void pack_record(Packer& packer, const NumberRecord& record);

// explain of a register: `params` are behind the name.
void explain_number(const MethodContext& context, Session& session,
                    const protocol::Message& message, std::string_view name,
                    protocol::ValueReader params);

}  // namespace seqd

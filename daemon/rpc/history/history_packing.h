// Puts the answers of the history on the wire, as PROTOCOL.md describes them. Pure.
#pragma once

#include <string>

#include "daemon/rpc/history/audit.h"
#include "daemon/rpc/history/explanation.h"
#include "protocol/buffer.h"

namespace seqd {

// `progression` null: the IDs are the ordinals.
void pack_gaps(protocol::Buffer& out, const std::string& name, const IdProgression* progression,
               const GapsAnswer& answer);
void pack_explanation(protocol::Buffer& out, const std::string& name, const IdFacts& facts);
void pack_audit(protocol::Buffer& out, const std::string& name, const AuditFacts& facts);

}  // namespace seqd

// Rights: which users may administer, and which may take IDs of a sequence. Decided by the kernel's
// report about the connection and by the configuration in force. Functions without state; loop
// thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/rpc/methods.h"

namespace seqd {

// OK, or DENIED with the right that is missing and what an administrator would set.
Status check_administers(const Control& control, const Peer& peer, std::string_view method);

// The same for taking IDs of the sequence of that name.
Status check_may_take(const MethodContext& context, const Peer& peer, std::string_view name);
// As above where the sequence is known; `access` is its, or null: it is not configured.
Status check_may_take(const MethodContext& context, const Peer& peer, std::string_view name,
                      const AccessSettings* access);

// Whether the caller may see what a sequence counts: users who may take its IDs, and
// administrators. OK, or DENIED.
Status check_may_know(const MethodContext& context, const Peer& peer, std::string_view name,
                      std::string_view method);
bool may_know(const MethodContext& context, const Peer& peer, std::string_view name,
              const AccessSettings* access);

// A right, and a text with the rule that granted or refused it: the decisions of the functions
// above.
struct Permission {
  bool given = false;
  std::string why;
};
Permission may_administer(const Control& control, const Peer& peer);
// Of "NAME@PERIOD", which no request for IDs can name: whether those of NAME come from it now.
Permission may_take(const MethodContext& context, const Peer& peer, std::string_view name);

// Raises the event `administered`, with the user and the process. `what` is the value of `field`,
// SEQUENCE or STORE; both may be empty. To be called when a request that changes something was
// accepted, or before a decommission, which may end at once.
void raise_administered(const MethodContext& context, const Session& session,
                        std::string_view method, std::string_view field, std::string_view what);

// Whether another request for every sequence may begin, a drain or an advance of a store. Each
// holds a report of every sequence, so there are few at a time: one of a user, and one place is
// kept for users who can change the configuration.
Status check_slot(const MethodContext& context, const Peer& peer);

}  // namespace seqd

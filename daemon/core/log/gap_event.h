// The journal's line about IDs that will never be issued: a MESSAGE_ID of its own for every cause.
// Pure; any thread.
#pragma once

#include <string>

#include "daemon/base/events.h"
#include "daemon/core/log/log_entry.h"

namespace seqd {

EventKind gap_event_kind(GapCause cause);

// `why` is one clause for people. A lease of zeros is unknown and left out.
Event gap_event(const GapMade& gap, const std::string& name, const Token& lease,
                const Token& instance, const std::string& why);

// A lease that cannot be traced: a gap of unknown place.
Event untraceable_event(const LeaseIntended& lease, const std::string& name, const Token& instance,
                        const std::string& why);

}  // namespace seqd

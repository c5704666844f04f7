// The state of a sequence, for reports and for other rooms. Nothing is stored here: all of it is
// derived from the parts of the sequence. Loop thread.
#pragma once

#include <string_view>

#include "daemon/base/status.h"

namespace seqd {

class Sequence;

// "ready", "fetching", "waiting" or "stopped".
std::string_view state_name(const Sequence& sequence);
// Its state is "stopped".
bool is_failing(const Sequence& sequence);
// Why it is stopped, else why the last lease failed; OK: neither.
Status request_error(const Sequence& sequence);
// A request failed, because too few IDs are available. One that did not wait shows nothing where a
// lease would have served it.
bool starves(const Sequence& sequence);
// The configuration has its counter; else that may not be called.
bool is_configured(const Sequence& sequence);
// An operation of it is with the log or the store.
bool in_flight(const Sequence& sequence);
// Nothing of it is available, out, being leased or returned.
bool holds_nothing(const Sequence& sequence);
// Its counter was set back, or is that of an older copy: it has to be advanced for every host.
bool awaits_advance(const Sequence& sequence);
// Where it moves to, ranges may be parked whose IDs were issued here: of a copy of the counter.
bool may_meet_parked(const Sequence& sequence);

}  // namespace seqd

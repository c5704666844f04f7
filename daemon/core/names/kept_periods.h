// Whether the counter of a period may have been removed (sequence.period_retention): making it
// again would issue its IDs again. Instants are seconds since 1970. Functions without state; any
// thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/core/log/name_entry.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

// By the newest period that was in use here. `known`: of the period's name. SEQ_REGRESSED.
Status check_kept(const Period& period, const DefineName& known, const PeriodSettings& settings);

// Of a sequence that has leased nothing yet: the same, and by the clock. The period was the present
// one when the sequence was made; its first lease may have waited long; in a suspended host even
// without a request for a later period. `known`: null where its name has no record. SEQ_REGRESSED.
Status check_not_removed(std::string_view name, const PeriodSettings& settings,
                         const DefineName* known, std::int64_t now_s);

}  // namespace seqd

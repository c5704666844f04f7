// Time zones by their IANA names, from the zone files of this system (tzdata), without touching the
// process's own time zone. The only file that uses the library absl/time. Blocking reads of small
// files; at start and reload only. What it returns is immutable; any thread.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/status.h"
#include "daemon/base/time/calendar.h"

namespace seqd {

// Null for "UTC", which needs no file. CONFIG when this system has no such zone.
Result<std::shared_ptr<const TimeZone>> find_time_zone(const std::string& name);

}  // namespace seqd

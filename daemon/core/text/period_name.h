// The period of a text: the name of the one in which its date parts lie. They determine the unit or
// a finer one. Without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/text/period.h"

namespace seqd {

// "day".
std::string_view unit_name(PeriodUnit unit);
// Empty: the date determines no period of that unit.
std::string period_told(PeriodUnit unit, const IdDate& date);

}  // namespace seqd

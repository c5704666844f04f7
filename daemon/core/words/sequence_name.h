// The name of a period's sequence: "orders" and "2026-11-22" are "orders@2026-11-22", and back. No
// client can use such a name, since "@" is not allowed in names. Functions without state; any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace seqd {

std::string period_sequence(std::string_view base, std::string_view period);
// A name without a period is its own base.
std::string_view base_of(std::string_view name);
std::string_view period_of(std::string_view name);  // empty: none

}  // namespace seqd

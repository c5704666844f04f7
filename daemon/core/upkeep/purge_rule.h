// Which counters of a sequence with periods may be removed from a store. A key that does not parse
// as one of the sequence's, or that the sequence would write differently, belongs to another
// program. Pure; any thread.
//
// Invariant: a period that may be removed is never begun again by a host that has used the present
// one: daemon/core/names/kept_periods.h refuses it by the same comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

// How the keys of a sequence's counters look: so many characters of the period between two texts.
struct KeyForm {
  std::string before;
  std::size_t period = 0;
  std::string behind;
  std::size_t length() const { return before.size() + period + behind.size(); }
};

// Of the settings of "orders", not of one of its periods; they have a rule.
KeyForm key_form(const SequenceSettings& settings, std::string_view base);

// The period whose counter has that key, an integer's in digits; nothing: it is no key of the
// sequence.
std::optional<Period> period_of_key(const SequenceSettings& settings, std::string_view base,
                                    std::string_view key);

// Whether the period ended so long before the one in which `now_s` is that its counter need not be
// kept.
bool may_be_removed(const PeriodSettings& periods, const Period& period, std::int64_t now_s);

// As a store returns the key: an integer without leading zeros.
std::string plain_key(KeyType type, std::string_view key);

}  // namespace seqd

// Which counter the ranges of a sequence came from, as the log remembers it, so that they are not
// issued for another one. Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "daemon/core/settings/id_progression.h"
#include "daemon/core/words/counter_binding.h"

namespace seqd {

// Which counter a sequence takes its ranges from, and what its ordinals mean (progression_text()),
// as text, for DefineSequence::binding.
std::string binding_text(const CounterBinding& binding,
                         const ProgressionSettings& progression = {});
// The same of a counter with another key.
std::string binding_text(const CounterBinding& binding, std::string_view key,
                         const ProgressionSettings& progression);
// Of a binding_text() the part that names the counter: equal ones are the same in one database.
std::string_view counter_of(std::string_view binding);
// Whether ordinals of `held` are the same IDs for a sequence configured so, of whichever counter.
bool same_ordinals(const std::string& held, const CounterBinding& configured,
                   const ProgressionSettings& progression = {});
// Whether ranges of the counter `held` may be used for a sequence configured so.
bool same_counter(const std::string& held, const CounterBinding& configured,
                  const ProgressionSettings& progression = {});
// What the ordinals of ranges of the counter `held` mean, whatever is `configured` today: the
// compiled one if it is that, else one with the widest bounds where they do not matter; null: they
// are the IDs.
std::shared_ptr<const IdProgression> held_progression(const std::string& held,
                                                      const ProgressionSettings& configured);

}  // namespace seqd

// In which form the IDs of a sequence are written as text, as one line for the log
// (DefineName::forms), and whether two forms may give two IDs the same text. Functions without
// state; any thread.
//
// The line is "UNIT KEY FORMAT": of its periods "day" or "-", and of its dates the time zone if it
// is not UTC, "day@Europe/Berlin"; the number of its key and digits that distinguish the key from
// others, "1:0a1b2c3d", or "-"; the format. So what one form writes for an ID and a moment is
// always the same.
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/log/name_entry.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

// Of settings with a format.
std::string form_of(const SequenceSettings& settings);

// Whether a text in the form `now` may be that of another ID in the form `former`. What cannot be
// read may.
bool may_repeat(const std::string& former, const std::string& now);

// Whether a text in the form `now` may be that of an ID in a form that the name had. SEQ_CHANGED.
Status check_form(const DefineName& known, const std::string& now);

// The format in quotation marks, and what else is in the form: for people.
std::string form_shown(const std::string& form);

// Why there is no text of the sequence's IDs: CONFIG.
Status no_format(std::string_view name, const SequenceSettings& settings);

}  // namespace seqd

// The message catalogue of the journal (`journalctl -x`), made from the list of events. Pure.
#pragma once

#include <string>

namespace seqd {

// packaging/systemd/seqd.catalog.
std::string journal_catalog();

}  // namespace seqd

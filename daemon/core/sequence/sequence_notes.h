// SequenceNotes: what the table notes of one sequence, which keeps it. Small: a host may have many
// sequences. A value; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/user_id.h"

namespace seqd {

struct SequenceNotes {
  // Its share of what all sequences come to.
  struct Counted {
    std::int64_t issued = 0;
    std::int64_t available = 0;
    // Ranges available or being leased beyond the two that each sequence is counted with.
    std::int64_t extra_ranges = 0;
  };

  Counted counted;               // by SequenceAccounts
  bool stopped = false;          // the same
  bool ending = false;           // it is in SequenceAccounts::ending()
  bool made = false;             // it has a place of the names that are in no table,
  UserId made_by = 0;            // which is that user's
  std::uint32_t rate_place = 0;  // in SequenceRates, from 1 on; 0: it is not noted there
};

}  // namespace seqd

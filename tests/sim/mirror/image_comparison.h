// Whether a start read what was written: two images of one log, which differ in no more than what
// every start may change. Any thread.
#pragma once

#include "daemon/core/log/state_image.h"

namespace seqd::sim {

// The clients alone, with what they have to be answered.
bool same_clients(const StateImage& a, const StateImage& b);

bool same_image(const StateImage& a, const StateImage& b);

}  // namespace seqd::sim

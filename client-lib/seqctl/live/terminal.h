// What the output is connected to, which determines how to draw on it. Reads the environment and
// the descriptor; any thread.
#pragma once

#include <cstddef>

namespace seqd::seqctl {

struct Terminal {
  bool is_one = false;   // a terminal that obeys the usual sequences: TERM is not "dumb"
  bool utf8 = false;     // it is one, and the locale's characters are UTF-8
  bool colours = false;  // it is one, and NO_COLOR is not set
  std::size_t rows = 24;
  std::size_t columns = 80;
};

// As it is now: a window may have another size by the next call.
Terminal terminal_of(int descriptor);

}  // namespace seqd::seqctl

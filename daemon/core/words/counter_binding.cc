#include "daemon/core/words/counter_binding.h"

namespace seqd {

const char* meaning_word(Meaning meaning) {
  switch (meaning) {
    case Meaning::last:
      return "last";
    case Meaning::next:
      return "next";
    case Meaning::unset:
      break;
  }
  return "unset";
}

}  // namespace seqd

#include "daemon/core/registers/register_record.h"

#include "daemon/base/assertion.h"

namespace seqd {

const char* number_state_word(NumberState state) {
  switch (state) {
    case NumberState::assigned:
      return "assigned";
    case NumberState::confirmed:
      return "confirmed";
    case NumberState::voided:
      return "void";
    case NumberState::free:
      return "free";
  }
  ASSERT(false);
}

}  // namespace seqd

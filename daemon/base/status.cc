#include "daemon/base/status.h"

namespace seqd {

std::string Status::to_string() const {
  std::string out(error_name(code_));
  if (!ok()) out.append(": ").append(text_);
  return out;
}

}  // namespace seqd

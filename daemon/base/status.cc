#include "daemon/base/status.h"

namespace seqd {

const std::string& Status::text() const {
  static const std::string kNone;
  return ok() ? kNone : error_->text;
}

std::string Status::to_string() const {
  std::string out(error_name(code()));
  if (!ok()) out.append(": ").append(text());
  return out;
}

}  // namespace seqd

#include "tests/sim/clients/attached_page.h"

#include <utility>

namespace seqd::sim {

bool AttachedPage::told(std::uint64_t connection, Page page) {
  connection_ = connection;
  return std::exchange(page_, std::move(page)) != page_;
}

AttachedPage::Page AttachedPage::of(std::uint64_t connection) const {
  return connection_ == connection ? page_ : nullptr;
}

}  // namespace seqd::sim

#include "daemon/core/words/sequence_name.h"

namespace seqd {

std::string period_sequence(std::string_view base, std::string_view period) {
  return std::string(base).append("@").append(period);
}

std::string_view base_of(std::string_view name) {
  return name.substr(0, name.find('@'));
}

std::string_view period_of(std::string_view name) {
  const std::size_t at = name.find('@');
  return at == std::string_view::npos ? std::string_view() : name.substr(at + 1);
}

}  // namespace seqd

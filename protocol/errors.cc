#include "protocol/errors.h"

#include <array>
#include <cstddef>
#include <cstdlib>

namespace seqd {
namespace {

constexpr std::array kCatalogue = {
#define X(code, fault, retry, meaning) \
  ErrorInfo{ErrorCode::code, Fault::fault, Retry::retry, #code, meaning},
#include "protocol/errors.def"
#undef X
};

bool is_code_character(char c) {
  return (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

const ErrorInfo& error_info(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  if (index == 0 || index > kCatalogue.size())
    std::abort();  // not an error of the catalogue: a defect
  return kCatalogue[index - 1];
}

std::string_view error_name(ErrorCode code) {
  return code == ErrorCode::OK ? std::string_view("OK") : error_info(code).name;
}

std::optional<ErrorCode> find_error_code(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_code_character(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_code_character(text[end])) ++end;
    if (end < text.size() && text[end] == ':') {
      for (const ErrorInfo& info : kCatalogue) {
        if (info.name == text.substr(at, end - at)) return info.code;
      }
    }
    at = end;
  }
  return std::nullopt;
}

}  // namespace seqd

#include "protocol/text/names.h"

#include <array>

namespace seqd::protocol {
namespace {

constexpr std::array<bool, 256> allowed_bytes() {
  std::array<bool, 256> allowed{};
  for (unsigned c = 'A'; c <= 'Z'; ++c) allowed[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) allowed[c] = true;
  for (unsigned c = '0'; c <= '9'; ++c) allowed[c] = true;
  for (const char c : {'.', '_', ':', '-'}) allowed[static_cast<unsigned char>(c)] = true;
  return allowed;
}
constexpr std::array<bool, 256> kAllowed = allowed_bytes();

}  // namespace

std::optional<NameProblem> check_sequence_name(std::string_view name, std::size_t longest) {
  if (name.empty())
    return NameProblem{ErrorCode::BAD_REQUEST,
                       "the sequence name is empty; it has 1 byte at least"};
  if (name.size() > longest)
    return NameProblem{ErrorCode::TOO_LARGE,
                       "the sequence name is longer than the limit name (see the limits of hello)"};
  for (const char c : name) {
    if (!kAllowed[static_cast<unsigned char>(c)])
      return NameProblem{ErrorCode::BAD_REQUEST,
                         "a sequence name consists of A-Z a-z 0-9 . _ : - and nothing else"};
  }
  return std::nullopt;
}

std::optional<NameProblem> check_name_with_period(std::string_view name, std::size_t longest) {
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos) return check_sequence_name(name, longest);
  if (const auto problem = check_sequence_name(name.substr(0, at), longest)) return problem;
  return check_sequence_name(name.substr(at + 1), longest);
}

}  // namespace seqd::protocol

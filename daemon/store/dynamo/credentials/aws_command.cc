#include "daemon/store/dynamo/credentials/aws_command.h"

#include <algorithm>
#include <optional>

namespace seqd {
namespace {

constexpr std::size_t kMostWords = 256;

Status refused(const char* what) {
  return {ErrorCode::UNAVAILABLE, std::string("credential_process ") + what};
}

}  // namespace

Result<std::vector<std::string>> split_aws_command(std::string_view command) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  };
  if (std::any_of(command.begin(), command.end(), is_control))
    return refused("holds a control character");
  std::vector<std::string> words;
  std::optional<std::string> word;  // the one that is being read
  char quote = '\0';                // within which it is
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    const char next = at + 1 < command.size() ? command[at + 1] : '\0';
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (word) words.push_back(*word);
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && (quote == '\0' || (quote == '"' && (next == '"' || next == '\\')))) {
      if (next == '\0') return refused("ends with a backslash");
      *word += next;
      ++at;
    } else {
      *word += c;
    }
  }
  if (quote != '\0') return refused("has a quotation mark that is not closed");
  if (word) words.push_back(*word);
  if (words.empty() || words[0].empty()) return refused("names no program");
  if (words.size() > kMostWords) return refused("has more than 256 words");
  return words;
}

}  // namespace seqd

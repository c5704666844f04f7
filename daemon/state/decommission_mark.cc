#include "daemon/state/decommission_mark.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// A text for operators; also distinguishes a mark from other files.
constexpr std::string_view kTitle =
    "This seqd is being decommissioned: repeat `seqctl decommission --yes`.\n";
constexpr std::string_view kEnd = ".\n";  // an older draft may have been longer
constexpr std::size_t kHexDigits = 32;
constexpr std::size_t kMostBytes = 1 << 20;

std::optional<Token> token_of(std::string_view hex) {
  Token token{};
  ASSERT(hex.size() == 2 * token.size());
  for (std::size_t at = 0; at < 2 * token.size(); ++at) {
    const std::size_t value = std::string_view("0123456789abcdef").find(hex[at]);
    if (value == std::string_view::npos) return std::nullopt;
    token[at / 2] =
        static_cast<std::uint8_t>((unsigned{token[at / 2]} << 4U) | static_cast<unsigned>(value));
  }
  return token;
}

// The next line of `text`, which gets shorter; none where it has no end.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::vector<RetiredInstance>> parse(std::string_view text) {
  if (!text.starts_with(kTitle)) return std::nullopt;
  text.remove_prefix(kTitle.size());
  std::vector<RetiredInstance> instances;
  for (;;) {
    const std::optional<std::string_view> line = take_line(text);
    if (!line) return std::nullopt;
    if (*line == ".") return instances;
    if (line->size() < kHexDigits + 2 || (*line)[kHexDigits] != ' ') return std::nullopt;
    const std::optional<Token> instance = token_of(line->substr(0, kHexDigits));
    if (!instance) return std::nullopt;
    instances.push_back({std::string(line->substr(kHexDigits + 1)), *instance});
  }
}

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Status write_decommission_mark(Directory& directory,
                               const std::vector<RetiredInstance>& instances) {
  std::string text(kTitle);
  for (const RetiredInstance& one : instances)
    text += to_hex(one.instance) + " " + one.store + "\n";
  text += kEnd;
  Result<std::unique_ptr<File>> draft = directory.open(decommission_draft_name);
  if (!draft.ok()) return draft.status();
  Status status = (*draft)->write_at(0, as_bytes(text));
  if (status.ok()) status = (*draft)->sync_data();
  if (status.ok()) status = directory.rename(decommission_draft_name, decommission_mark_name);
  if (!status.ok()) return status;
  status = directory.sync();
  // The decommission is refused, and the next start must not complete it.
  if (!status.ok())
    static_cast<void>(directory.rename(decommission_mark_name, decommission_draft_name));
  return status;
}

Result<std::optional<std::vector<RetiredInstance>>> read_decommission_mark(Directory& directory) {
  // To open it would make it.
  if (!directory.identity(decommission_mark_name).ok())
    return std::optional<std::vector<RetiredInstance>>();
  Result<std::unique_ptr<File>> file = directory.open(decommission_mark_name);
  if (!file.ok()) return file.status();
  const Result<std::uint64_t> size = (*file)->size();
  if (!size.ok()) return size.status();
  std::string text(std::min<std::size_t>(*size, kMostBytes), '\0');
  const Result<std::size_t> got =
      (*file)->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  if (!got.ok()) return got.status();
  std::optional<std::vector<RetiredInstance>> instances =
      parse(std::string_view(text).substr(0, *got));
  if (instances) return instances;
  return Status(ErrorCode::STATE_CORRUPT, directory.path() + "/" + decommission_mark_name +
                                              " was not written by seqd; it marks a decommission "
                                              "in progress. Remove it if there is none");
}

}  // namespace seqd

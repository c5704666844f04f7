#include "daemon/os/journal/event_line.h"

#include <algorithm>

#include "daemon/base/assertion.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

// C0 and C1 controls, delete, and the separators and overrides that would change how a line looks.
bool harmless(std::string_view character) {
  ASSERT(!character.empty());
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first >= 0x20 && first != 0x7f;
  if (character.size() == 2)
    return !(first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
  const bool separator = character == "\u2028" || character == "\u2029";
  const bool override_mark = character >= "\u202a" && character <= "\u202e";
  const bool isolate_mark = character >= "\u2066" && character <= "\u2069";
  return !separator && !override_mark && !isolate_mark;
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append("\\x").push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A value that could be taken for more than one word stands in quotes.
void append_value(std::string& out, std::string_view value) {
  const std::string text = escape_line(value);
  if (!text.empty() && text.find_first_of(" \"=\\") == std::string::npos) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace

std::string escape_line(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    // Nearly all of it is plain, and goes over at once.
    const auto plain =
        std::find_if(text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7e; });
    const auto run = static_cast<std::size_t>(plain - text.begin());
    const std::size_t fits = std::min(run, limit - out.size());
    out.append(text.substr(0, fits));
    if (fits < run) return out.append("...");
    text.remove_prefix(run);
    if (text.empty()) break;
    const std::size_t length = protocol::utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const std::size_t before = out.size();
    if (length > 0 && harmless(character)) {
      out.append(character);
    } else {
      append_escaped(out, character);
    }
    if (out.size() > limit) {
      out.resize(before);
      return out.append("...");
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string event_line(const Event& event) {
  std::string out(event_info(event.kind).name);
  out.append(": ").append(escape_line(event.text));
  std::size_t fields = 0;
  for (const auto& [name, value] : event.fields) {
    if (!valid_field_name(name) || ++fields > kMaxEventFields) continue;
    std::string field = " " + lower(name) + "=";
    append_value(field, value);
    if (out.size() + field.size() > kMaxEventLine) return out.append(" ...");
    out.append(field);
  }
  return out;
}

bool valid_field_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name[0] == '_') return false;
  if (name[0] >= '0' && name[0] <= '9') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace seqd

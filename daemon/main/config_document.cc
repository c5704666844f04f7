// toml++ is included here and nowhere else. Without exceptions: errors are values.
#include "daemon/main/config_document.h"

#include <algorithm>

#include "daemon/os/event_line.h"
#include "daemon/os/utf8.h"

#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace seqd {
namespace {

Status refuse(const std::string& file, std::int64_t line, const std::string& what) {
  return {ErrorCode::CONFIG, file + ":" + std::to_string(line) + ": " + what};
}

// toml++ bounds arrays and inline tables but not dotted keys, and takes tables apart by recursion:
// "a.a.a.a..." would overflow the stack. So keys are counted before it sees them. Strings and
// comments are stepped over; what is not TOML at all is left to the parser.
class KeyDepth {
 public:
  explicit KeyDepth(std::string_view text) : text_(text) {}

  // The line of the first key with too many parts; 0 when there is none.
  int first_too_deep() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.' && ++dots_ >= kMaxConfigurationDepth) return line_;
      if (c == '\n') ++line_;
      if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots_ = 0;
      ++at_;
    }
    return 0;
  }

 private:
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool long_form = text_.substr(at_, 3) == three;
    at_ += long_form ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        if (!long_form) return;
        ++line_;
      }
      if (text_[at_] == '\\' && quote == '"') {
        // The escaped character is stepped over, unless it is the end of a line.
        if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (long_form ? text_.substr(at_, 3) == three : text_[at_] == quote) {
        at_ += long_form ? 3 : 1;
        // The long form may end with one or two quotes of its own before the three.
        for (int i = 0; long_form && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int dots_ = 0;
};

DocumentTable convert(const toml::table& table);

DocumentEntry convert(const toml::key& key, const toml::node& node) {
  using Kind = DocumentEntry::Kind;
  DocumentEntry entry;
  entry.key = std::string(key.str());
  entry.line = static_cast<int>(key.source().begin.line);
  if (const auto* number = node.as_integer()) {
    entry.kind = Kind::integer;
    entry.integer = number->get();
    entry.what = "an integer";
  } else if (const auto* truth = node.as_boolean()) {
    entry.kind = Kind::boolean;
    entry.boolean = truth->get();
    entry.what = "true or false";
  } else if (const auto* text = node.as_string()) {
    entry.kind = Kind::text;
    entry.text = text->get();
    entry.what = "text";
  } else if (const auto* inner = node.as_table()) {
    entry.kind = Kind::table;
    entry.table = convert(*inner);
    entry.what = "a table";
  } else if (node.is_array()) {
    entry.what = "an array";
  } else if (node.is_floating_point()) {
    entry.what = "a fraction";
  } else {
    entry.what = "a date or time";
  }
  return entry;
}

DocumentTable convert(const toml::table& table) {
  DocumentTable out;
  for (const auto& [key, node] : table) out.entries.push_back(convert(key, node));
  std::stable_sort(out.entries.begin(), out.entries.end(),
                   [](const DocumentEntry& a, const DocumentEntry& b) { return a.line < b.line; });
  return out;
}

}  // namespace

Result<DocumentTable> parse_document(std::string_view text, const std::string& file) {
  if (text.size() > kMaxConfigurationSize)
    return refuse(file, 1, "the file is longer than 1 MiB; a configuration is not that long");
  if (const auto bad = first_invalid_utf8(text); bad < text.size()) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    return refuse(file, line, "the text is not UTF-8");
  }
  if (const int line = KeyDepth(text).first_too_deep(); line > 0)
    return refuse(file, line,
                  "a key has more than " + std::to_string(kMaxConfigurationDepth) + " parts");
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    std::string_view what = error.description();
    // The parser names its own build option, which no reader of the file can set.
    what = what.substr(0, what.find(" (TOML_MAX"));
    return refuse(file, error.source().begin.line, "not TOML: " + escape_line(what, 300));
  }
  return convert(parsed.table());
}

}  // namespace seqd

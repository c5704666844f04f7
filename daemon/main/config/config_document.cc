// toml++ is included here and nowhere else. Its exceptions end in this file.
#include "daemon/main/config/config_document.h"

#include <algorithm>
#include <stdexcept>

#include "daemon/os/journal/event_line.h"
#include "protocol/text/utf8.h"

// toml++ 3.3 asserts things that a file can make false ("[@x]"): that must not end the daemon. For
// that one the code after the assertion reports an ordinary error; any other ends the parsing.
constexpr void toml_assertion(bool holds, std::string_view what) {
  if (!holds && !what.starts_with("is_bare_key_character(*cp) ||"))
    throw std::logic_error("an assertion of the parser failed");
}

#define TOML_EXCEPTIONS 1
#define TOML_MAX_NESTED_VALUES 16
#define TOML_ASSERT(...) toml_assertion(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#include <toml++/toml.h>

namespace seqd {
namespace {

Status refuse(const std::string& file, std::int64_t line, const std::string& what) {
  return {ErrorCode::CONFIG, file + ":" + std::to_string(line) + ": " + what};
}

// Refuses text that toml++ 3.3 cannot process: it parses tables by recursion, so that a key
// "a.a.a.a..." would overflow the stack, and its test whether a letter like U+00E9 is a space has
// undefined behaviour. Strings and comments are skipped; other syntax errors are left to the
// parser.
class Precheck {
 public:
  explicit Precheck(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  }

  // What is wrong; empty when nothing is. line() is then where.
  std::string fault() {
    int dots = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        if (text_.substr(at_, 3) == std::string(3, c))
          return "a string in triple quotes; allowed: single ones";
        // The parser would read on behind the mistake, and not as in a string.
        if (!begins_) return "a quote where no string can begin";
        if (!skip_string(c)) return "a string without its closing quote";
        begins_ = false;
        continue;
      }
      if (c == '#') skip_comment();
      if (at_ >= text_.size()) break;
      if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r')
        return "a control character";
      if (static_cast<unsigned char>(c) >= 0x80)
        return "a character that is not ASCII, outside of quotes and comments";
      if (c == '.' && ++dots >= kMaxConfigurationDepth)
        return "a key has more than " + std::to_string(kMaxConfigurationDepth) + " parts";
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
      follow(text_[at_]);
    }
    return {};
  }
  int line() const { return line_; }

 private:
  // To the end of the line, which is then looked at.
  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // To the closing quote. False when the line ends before.
  bool skip_string(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n') return false;
      const bool escapes = text_[at_] == '\\' && quote == '"';
      if (escapes && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    }
    return at_ < text_.size();
  }

  // Whether a key or a value may begin behind `c`. Within a word that is neither, the parser takes
  // a string for a part of the word.
  void follow(char c) {
    const bool could = begins_;
    switch (c) {
      case ' ':
      case '\t':
      case '\r':
        return;
      case '\n':
        if (!open_.empty()) return;
        in_value_ = false;
        begins_ = true;
        return;
      case '=':
        begins_ = !in_value_;
        in_value_ = true;
        return;
      case '.':
        begins_ = !in_value_;
        return;
      case ',':
        begins_ = !open_.empty();
        in_value_ = open_.ends_with('[');
        return;
      case '[':
      case '{':
        begins_ = could && (in_value_ || c == '[');
        if (!begins_ || !in_value_) return;  // the name of a table is no array
        open_.push_back(c);
        in_value_ = c == '[';
        return;
      case ']':
      case '}':
        begins_ = false;
        if (open_.empty()) return;
        open_.pop_back();
        in_value_ = true;
        return;
      default:
        begins_ = false;
    }
  }

  std::string_view text_;
  std::string open_;       // arrays and tables within a value
  bool begins_ = true;     // a key or a value may begin here
  bool in_value_ = false;  // behind the `=` of its key
  std::size_t at_ = 0;
  int line_ = 1;
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
  } else if (const auto* array = node.as_array()) {
    entry.what = "an array";
    for (const toml::node& element : *array)
      if (const auto* one = element.as_string()) entry.texts.push_back(one->get());
    if (entry.texts.size() == array->size()) entry.kind = Kind::texts;
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

// The line of that number, without the spaces around it.
std::string_view line_at(std::string_view text, std::int64_t number) {
  for (; number > 1 && !text.empty(); --number)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  text = text.substr(std::min(text.find_first_not_of(" \t\r"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

}  // namespace

Result<DocumentTable> parse_document(std::string_view text, const std::string& file) {
  if (text.size() > kMaxConfigurationSize)
    return refuse(file, 1, "the file is longer than 1 MiB; a configuration is not that long");
  if (const auto bad = protocol::first_invalid_utf8(text); bad < text.size()) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    return refuse(file, line, "the text is not UTF-8");
  }
  Precheck precheck(text);
  if (const std::string fault = precheck.fault(); !fault.empty())
    return refuse(file, precheck.line(), fault);
  try {
    return convert(toml::parse(text));
  } catch (const toml::parse_error& error) {
    std::string_view what = error.description();
    // The parser names its own build option, which no reader of the file can set.
    what = what.substr(0, what.find(" (TOML_MAX"));
    const std::int64_t line = error.source().begin.line;
    // The parser garbles names in quotes here.
    if (what.find("table header: cannot redefine") != std::string_view::npos)
      return refuse(file, line,
                    "the table " + escape_line(line_at(text, line), 300) + " stands above already");
    return refuse(file, line, "not TOML: " + escape_line(what, 300));
  } catch (const std::logic_error& error) {
    return refuse(file, 1, "not TOML: " + escape_line(error.what(), 300));
  }
}

}  // namespace seqd

#include "daemon/store/dynamo/credentials/aws_profiles.h"

#include <algorithm>

namespace seqd {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// A remark behind a value begins with a space.
std::string_view without_remark(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool remark = text[at] == '#' || text[at] == ';';
    if (remark && kSpace.find(text[at - 1]) != std::string_view::npos) return text.substr(0, at);
  }
  return text;
}

std::string_view without_quotes(std::string_view text) {
  const bool quoted =
      text.size() >= 2 && text.front() == text.back() && (text[0] == '"' || text[0] == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// What is in the brackets, and how it is meant.
struct Heading {
  std::string name;
  bool is_profile = false;  // "profile NAME"
};

std::optional<Heading> heading_of(std::string_view line) {
  const std::size_t close = line.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view inside = trimmed(line.substr(1, close - 1));
  constexpr std::string_view kWord = "profile";
  Heading heading;
  if (inside.starts_with(kWord) && inside.size() > kWord.size() &&
      kSpace.find(inside[kWord.size()]) != std::string_view::npos) {
    heading.is_profile = true;
    inside = trimmed(inside.substr(kWord.size()));
  }
  heading.name = without_quotes(inside);
  return heading;
}

// Reads one profile line by line.
class Reader {
 public:
  Reader(AwsFile file, const std::string& profile) : file_(file), wanted_(profile) {}

  void take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') return;
    if (text.front() == '[') return enter(heading_of(text));
    if (!inside_) return;
    // What is set in from the left belongs to the property above, if that has no value of its own.
    const bool set_in = kSpace.find(line.front()) != std::string_view::npos;
    if (set_in && above_is_empty_) return;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return;
    const std::string value(trimmed(without_remark(text.substr(equals + 1))));
    above_is_empty_ = value.empty();
    found_->insert_or_assign(std::string(trimmed(text.substr(0, equals))), value);
  }

  std::optional<AwsProfile> found() && { return std::move(found_); }

 private:
  void enter(const std::optional<Heading>& heading) {
    inside_ = false;
    above_is_empty_ = false;
    if (!heading) return;
    // In the credentials file a profile may be called "profile x".
    const std::string name = file_ == AwsFile::credentials && heading->is_profile
                                 ? "profile " + heading->name
                                 : heading->name;
    const bool may_be = file_ == AwsFile::credentials || heading->is_profile || name == "default";
    if (name != wanted_ || !may_be) return;
    // [profile default] counts, and [default] beside it does not.
    const bool named = file_ == AwsFile::config && heading->is_profile;
    if (named_ && !named) return;
    if (named && !named_) found_.reset();
    named_ = named_ || named;
    inside_ = true;
    if (!found_) found_.emplace();
  }

  const AwsFile file_;
  const std::string& wanted_;
  bool inside_ = false;
  bool above_is_empty_ = false;
  bool named_ = false;
  std::optional<AwsProfile> found_;
};

}  // namespace

std::optional<AwsProfile> find_aws_profile(std::string_view text, AwsFile file,
                                           const std::string& profile) {
  Reader reader(file, profile);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(reader).found();
}

std::string aws_property(const AwsProfile& profile, const std::string& name) {
  const auto found = profile.find(name);
  return found == profile.end() ? std::string() : found->second;
}

AwsFilePlace aws_file_place(const std::function<std::string(const char*)>& environment,
                            AwsFile file) {
  const bool is_config = file == AwsFile::config;
  AwsFilePlace place;
  place.path = environment(is_config ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE");
  place.named = !place.path.empty();
  const std::string home = environment("HOME");
  if (place.named) {
    if (place.path.starts_with("~/")) place.path.replace(0, 1, home);
    return place;
  }
  if (!home.empty()) place.path = home + (is_config ? "/.aws/config" : "/.aws/credentials");
  return place;
}

}  // namespace seqd

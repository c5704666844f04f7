#include "daemon/main/config_formats.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "daemon/core/id_format.h"
#include "daemon/os/aes.h"
#include "daemon/os/credentials.h"
#include "daemon/os/event_line.h"
#include "daemon/os/time_zones.h"

namespace seqd {
namespace {

constexpr const char* kFile = "scramble_key_file";
constexpr const char* kCredential = "scramble_key_credential";

using Key = std::shared_ptr<const BlockCipher>;

class Format {
 public:
  Format(const std::string& table, int line, const WrittenKeys& written, SequenceSettings& settings,
         Problems& problems)
      : table_(table), line_(line), written_(written), text_(settings.text), problems_(problems) {}

  void make(const ConfigurationRequest& request, std::vector<std::string>& warnings) {
    text_.made = nullptr;
    Result<IdTemplate> form = read_template(text_.format);
    if (!form.ok()) report("format", form.status().text());
    const Result<std::shared_ptr<const TimeZone>> zone = find_time_zone(text_.time_zone);
    if (!zone.ok()) report("time_zone", zone.status().text());
    const bool one_source = choose_source();
    if (!form.ok() || !zone.ok() || !one_source) return;
    Key key;
    if (form->scramble) {
      const std::optional<Key> read = read_key(request, warnings);
      if (!read) return;
      key = *read;
    }
    text_.made = std::make_shared<IdFormat>(std::move(*form), *zone, std::move(key));
  }

 private:
  void report(const char* key, const std::string& what) {
    problems_.add(line_of(written_, key, line_), table_ + "." + key, what);
  }

  // A table that says where its key is means that place, whatever the defaults say.
  bool choose_source() {
    const bool file = written_.contains(kFile);
    const bool credential = written_.contains(kCredential);
    if (file && credential) {
      report(kCredential, std::string("found besides ") + kFile + " (" +
                              where_written(written_, kFile) + "); allowed: one of them");
      return false;
    }
    if (file) text_.scramble_key_credential.clear();
    if (credential) text_.scramble_key_file.clear();
    return true;
  }

  // Nothing when there is none: that was reported, or is not to be looked at here.
  std::optional<Key> read_key(const ConfigurationRequest& request,
                              std::vector<std::string>& warnings) {
    const bool from_file = !text_.scramble_key_file.empty();
    const char* const option = from_file ? kFile : kCredential;
    if (!from_file && text_.scramble_key_credential.empty())
      text_.scramble_key_credential = kScrambleCredential;
    if (!from_file && !request.need_credentials && !have_credentials()) {
      warnings.push_back(table_ + "." + option +
                         ": not looked at, there is no $CREDENTIALS_DIRECTORY here");
      return std::nullopt;
    }
    const Result<Secret> secret = from_file ? read_secret_file(text_.scramble_key_file)
                                            : read_credential(text_.scramble_key_credential);
    if (!secret.ok()) {
      report(option, secret.status().text());
      return std::nullopt;
    }
    if (!secret->warning.empty())
      warnings.push_back(table_ + "." + option + ": " + secret->warning);
    Result<Key> key = make_aes(secret->value);
    if (key.ok()) return *key;
    report(option, "what stands there " + key.status().text());
    return std::nullopt;
  }

  const std::string& table_;
  const int line_;
  const WrittenKeys& written_;
  IdFormatSettings& text_;
  Problems& problems_;
};

}  // namespace

bool writes_format(const WrittenKeys& written) {
  constexpr std::array<std::string_view, 4> kKeys = {"format", "time_zone", kFile, kCredential};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view key) { return written.contains(key); });
}

void make_format(const std::string& table, int line, const WrittenKeys& written,
                 const ConfigurationRequest& request, SequenceSettings& settings,
                 std::vector<std::string>& warnings, Problems& problems) {
  Format(table, line, written, settings, problems).make(request, warnings);
}

}  // namespace seqd

#include "daemon/main/config/sequences/config_formats.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "daemon/core/text/id_format.h"
#include "daemon/os/aes.h"
#include "daemon/os/credentials.h"
#include "daemon/os/journal/event_line.h"
#include "daemon/os/time_zones.h"

namespace seqd {
namespace {

constexpr const char* kFile = "scramble_key_file";

using Key = std::shared_ptr<const BlockCipher>;

// "KEY", or "1:KEY,2:KEY".
Result<IdKeys> read_keys(std::string_view text) {
  IdKeys keys;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    int number = 0;
    if (one.size() > 2 && one[1] == ':' && one[0] >= '1' && one[0] <= '9') {
      number = one[0] - '0';
      one.remove_prefix(2);
    }
    Result<Key> key = make_aes(one);
    if (!key.ok()) return key.status();
    if (!keys.emplace(number, *key).second) {
      return Status(ErrorCode::CONFIG,
                    number == 0 ? "has two keys without a number; allowed: 1:KEY,2:KEY"
                                : "has the key number " + std::to_string(number) + " twice");
    }
    if (comma == text.size()) break;
    text.remove_prefix(comma + 1);
  }
  if (keys.size() > 1 && keys.contains(0))
    return Status(ErrorCode::CONFIG, "has keys with and without a number; allowed: 1:KEY,2:KEY");
  return keys;
}

class Format {
 public:
  Format(const std::string& table, int line, const WrittenKeys& written, SequenceSettings& settings,
         Problems& problems)
      : table_(table),
        line_(line),
        written_(written),
        text_(settings.text),
        periods_(settings.periods),
        problems_(problems) {}

  void make(const ConfigurationRequest& request, std::vector<std::string>& warnings) {
    text_.compiled = nullptr;
    Result<IdTemplate> form = read_template(text_.format);
    if (!form.ok()) report("format", form.status().text());
    const Result<std::shared_ptr<const TimeZone>> zone = find_time_zone(text_.time_zone);
    if (!zone.ok()) report("time_zone", zone.status().text());
    if (!form.ok() || !zone.ok()) return;
    IdKeys keys;
    if (form->scramble) {
      std::optional<IdKeys> read = read_key(request, warnings);
      if (!read || !fit(*form, *read)) return;
      keys = std::move(*read);
    }
    auto made = std::make_shared<IdFormat>(std::move(*form), *zone, std::move(keys));
    if (periods_.rule != nullptr) made->set_periods(periods_.rule);
    text_.compiled = std::move(made);
  }

 private:
  void report(const char* key, const std::string& what) {
    problems_.add(line_of(written_, key, line_), table_ + "." + key, what);
  }

  // A text can be assigned to its key only by the number of the key.
  bool fit(const IdTemplate& form, const IdKeys& keys) {
    const bool numbered = !keys.contains(0);
    if (form.tells_key && !numbered)
      report(kFile,
             "the file holds a key without a number; allowed: 1:KEY, since the "
             "format has {key}");
    if (!form.tells_key && numbered)
      report("format",
             "found \"" + text_.format +
                 "\" and a key with a number; allowed: with {key}, so that a text names its key");
    return form.tells_key == numbered;
  }

  // Nothing when there is none: that was reported, or is not to be looked at here.
  std::optional<IdKeys> read_key(const ConfigurationRequest& request,
                                 std::vector<std::string>& warnings) {
    if (!request.need_credentials && is_credential_of_unit(text_.scramble_key_file)) {
      warnings.push_back(table_ + "." + kFile +
                         ": not checked: there is no $CREDENTIALS_DIRECTORY here");
      return std::nullopt;
    }
    const Result<Secret> secret = read_secret(text_.scramble_key_file);
    if (!secret.ok()) {
      report(kFile, secret.status().text());
      return std::nullopt;
    }
    if (!secret->warning.empty()) warnings.push_back(table_ + "." + kFile + ": " + secret->warning);
    Result<IdKeys> keys = read_keys(secret->value);
    if (keys.ok()) return std::move(*keys);
    report(kFile, "the file " + keys.status().text());
    return std::nullopt;
  }

  const std::string& table_;
  const int line_;
  const WrittenKeys& written_;
  IdFormatSettings& text_;
  const PeriodSettings& periods_;
  Problems& problems_;
};

}  // namespace

bool writes_format(const WrittenKeys& written) {
  constexpr std::array<std::string_view, 3> kKeys = {"format", "time_zone", kFile};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view key) { return written.contains(key); });
}

void make_format(const std::string& table, int line, const WrittenKeys& written,
                 const ConfigurationRequest& request, SequenceSettings& settings,
                 std::vector<std::string>& warnings, Problems& problems) {
  Format(table, line, written, settings, problems).make(request, warnings);
}

}  // namespace seqd

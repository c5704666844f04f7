#include "daemon/main/config/sequences/config_periods.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/core/text/id_template.h"
#include "daemon/os/time_zones.h"

namespace seqd {
namespace {

using Piece = IdTemplate::Piece;

constexpr std::int64_t kLeastRetainMs = 2 * 86'400'000;
constexpr std::size_t kMostDigits = 18;  // of an integer key

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Periods {
 public:
  Periods(const std::string& table, int line, const WrittenKeys& written,
          const Configuration& configuration, SequenceSettings& settings, Problems& problems)
      : table_(table),
        line_(line),
        written_(written),
        configuration_(configuration),
        settings_(settings),
        periods_(settings.periods),
        problems_(problems) {}

  void make() {
    periods_.rule = nullptr;
    check_key();
    make_refill();
    if (periods_.period.empty()) {
      // One that is inherited does not matter.
      if (periods_.retain_ms > 0 && written_.contains("period_retention"))
        report("period_retention", "found without period; allowed: for a sequence with periods");
      return;
    }
    if (settings_.mode == SequenceMode::insert)
      return report("period", "found with mode = insert; allowed: for a sequence with a counter");
    if (!settings_.binding.seed_collection.empty())
      return report("period",
                    "found with seed_collection; allowed: one of them, since every period "
                    "begins at first_id");
    const Result<std::shared_ptr<const TimeZone>> zone = find_time_zone(settings_.text.time_zone);
    if (!zone.ok()) return;  // the format reports it
    Result<std::shared_ptr<const PeriodRule>> rule = PeriodRule::make(periods_.period, *zone);
    if (!rule.ok()) return report("period", rule.status().text());
    periods_.rule = *rule;
    if (settings_.binding.key_type == KeyType::integer && !periods_.rule->is_number())
      report("key_type",
             "found integer, but the period \"" + periods_.period +
                 "\" is not a number; allowed: a date format of digits only, as %y%m%d");
    check_retain();
    choose_format();
  }

 private:
  void make_refill() {
    settings_.refill.day = nullptr;
    if (settings_.refill.when != Refill::day) return;
    const Result<std::shared_ptr<const TimeZone>> zone = find_time_zone(settings_.text.time_zone);
    if (zone.ok()) settings_.refill.day = PeriodRule::make("day", *zone).value();
  }

  void report(const char* key, const std::string& what) {
    problems_.add(line_of(written_, key, line_), table_ + "." + key, what);
  }

  StoreType store_type() const {
    const auto store = configuration_.stores.find(settings_.store);
    return store == configuration_.stores.end() ? StoreType::mongodb : store->second.type;
  }

  void check_key() {
    std::string rest = settings_.binding.key;
    std::size_t count = 0;
    for (auto at = rest.find(kPeriodPlaceholder); at != std::string::npos;
         at = rest.find(kPeriodPlaceholder)) {
      rest.erase(at, kPeriodPlaceholder.size());
      ++count;
    }
    if (periods_.period.empty() && count > 0)
      return report("key", "found {period}, but no option period; allowed: both or neither");
    const bool has_key = !settings_.binding.key.empty() && settings_.mode == SequenceMode::lease;
    if (!periods_.period.empty() && has_key && count != 1)
      return report("key", "found {period} " + std::to_string(count) +
                               " times; allowed: once, so that each period has a counter");
    if (settings_.binding.key_type != KeyType::integer) return;
    const bool leading_zero = count == 0 && rest.size() > 1 && rest.front() == '0';
    if (settings_.binding.key.empty() || !is_digits(rest) || rest.size() > kMostDigits ||
        leading_zero) {
      report("key_type", "found integer with the key \"" + settings_.binding.key +
                             "\"; allowed: with a key of at most " + std::to_string(kMostDigits) +
                             " digits, or of {period} and digits");
    }
    if (store_type() != StoreType::mongodb)
      report("key_type", "found integer; allowed: in a store of type mongodb");
  }

  void check_retain() {
    if (periods_.retain_ms == 0) return;
    if (periods_.retain_ms < kLeastRetainMs)
      report("period_retention", "found less than 2d; allowed: 0 (for ever), or 2d and more");
  }

  // A text without its period would be issued again in the next one.
  void choose_format() {
    std::string& format = settings_.text.format;
    if (format == "{number}" && !written_.contains("format")) {
      format = std::string("{date:") + name_format(periods_.rule->unit()) + "}-{number}";
      return;
    }
    const Result<IdTemplate> form = read_template(format);
    if (!form.ok()) return;  // reported where it is made
    std::vector<Piece> dates;
    for (const Piece& piece : form->pieces) {
      const bool date = piece.kind == IdTemplate::Kind::date;
      const bool finer = piece.part == DatePart::minute || piece.part == DatePart::second;
      if (date && !finer) dates.push_back(piece);
    }
    const std::optional<PeriodUnit> contained = unit_of(dates);
    if (contained && contains(*contained, periods_.rule->unit())) return;
    report("format", "found \"" + format +
                         "\", which does not contain the period, so that its texts would repeat; "
                         "allowed: with the date, as {date:" +
                         name_format(periods_.rule->unit()) + "}");
  }

  static bool contains(PeriodUnit contained, PeriodUnit wanted) {
    if (contained == wanted || contained == PeriodUnit::hour) return true;
    if (contained == PeriodUnit::day) return wanted != PeriodUnit::hour;
    return contained == PeriodUnit::month && wanted == PeriodUnit::year;
  }

  const std::string& table_;
  const int line_;
  const WrittenKeys& written_;
  const Configuration& configuration_;
  SequenceSettings& settings_;
  PeriodSettings& periods_;
  Problems& problems_;
};

}  // namespace

void make_periods(const std::string& table, int line, const WrittenKeys& written,
                  const Configuration& configuration, SequenceSettings& settings,
                  Problems& problems) {
  Periods(table, line, written, configuration, settings, problems).make();
}

}  // namespace seqd

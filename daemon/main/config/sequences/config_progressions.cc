#include "daemon/main/config/sequences/config_progressions.h"

#include <algorithm>
#include <array>
#include <memory>

namespace seqd {
namespace {

// What JavaScript's numbers hold, as for max_value.
constexpr std::int64_t kLowestByDefault = -((std::int64_t{1} << 53) - 1);
constexpr std::array<std::string_view, 5> kKeys = {"start", "increment", "min", "max", "cycle"};

class Progression {
 public:
  Progression(const std::string& table, int line, const WrittenKeys& written,
              SequenceSettings& settings, Problems& problems)
      : table_(table), line_(line), written_(written), settings_(settings), problems_(problems) {}

  void make() {
    ProgressionSettings& progression = settings_.progression;
    progression.compiled = nullptr;
    IdProgression::Form form;
    form.increment = progression.increment.value_or(1);
    const bool up = form.increment > 0;
    form.min = progression.min.value_or(up ? 1 : kLowestByDefault);
    form.max = progression.max.value_or(up ? settings_.max_value : -1);
    form.start = progression.start.value_or(up ? form.min : form.max);
    form.cycle = progression.cycle;
    const bool max_twice = written_.contains("max_value") && (progression.max.has_value() || !up);
    if (!check(form, max_twice)) return;
    progression.start = form.start;
    progression.increment = form.increment;
    progression.min = form.min;
    progression.max = form.max;
    use(form);
  }

 private:
  bool check(const IdProgression::Form& form, bool max_twice) {
    if (form.increment == 0) return refuse("increment", "found 0; allowed: any other integer");
    if (form.min >= form.max) return refuse("min", found(form.min) + "must be below " + max(form));
    if (form.start < form.min)
      return refuse("start", found(form.start) + "must not be below min = " +
                                 std::to_string(form.min) + " (" + where("min") + ")");
    if (form.start > form.max)
      return refuse("start", found(form.start) + "must not be above " + max(form));
    if (written_.contains("first_id")) return refuse("first_id", besides("start"));
    return !max_twice || refuse("max_value", besides("max"));
  }

  void use(const IdProgression::Form& form) {
    const bool counts_ids =
        form.increment == 1 && !form.cycle && form.start >= 1 && form.start <= kLastOrdinal;
    if (counts_ids) {
      settings_.binding.first_id = form.start;
      settings_.max_value = std::min(form.max, kLastOrdinal);
      return;
    }
    settings_.binding.first_id = 1;
    if (settings_.binding.meaning != Meaning::unset) {
      refuse("meaning",
             "with this progression the number in the store is an ordinal, which other programs "
             "would read as an ID; allowed: a counter of its own without meaning, or increment = 1 "
             "with a start of at least 1 and no cycle");
      return;
    }
    if (settings_.blocks) {
      refuse("blocks",
             "clients count the IDs of a block by 1; allowed: increment = 1 with a start of at "
             "least 1 and no cycle, or no blocks");
      return;
    }
    settings_.progression.compiled = std::make_shared<IdProgression>(form);
  }

  static std::string found(std::int64_t value) { return "found " + std::to_string(value) + "; "; }
  std::string where(std::string_view key) const { return where_written(written_, key); }
  std::string max(const IdProgression::Form& form) const {
    return "max = " + std::to_string(form.max) + " (" + where("max") + ")";
  }
  static std::string besides(const char* instead) {
    return "found besides start, increment, min, max or cycle; allowed: " + std::string(instead) +
           " instead";
  }

  // At the option itself; else, where the default of it does not fit, at one that was written.
  bool refuse(std::string_view key, const std::string& what) {
    int line = line_;
    for (const std::string_view other : kKeys) line = line_of(written_, other, line);
    problems_.add(line_of(written_, key, line), table_ + "." + std::string(key), what);
    return false;
  }

  const std::string& table_;
  const int line_;
  const WrittenKeys& written_;
  SequenceSettings& settings_;
  Problems& problems_;
};

}  // namespace

void make_progression(const std::string& table, int line, const WrittenKeys& written,
                      SequenceSettings& settings, Problems& problems) {
  if (settings.progression.given()) Progression(table, line, written, settings, problems).make();
}

void relate_progression_to_format(const std::string& table, int line, const WrittenKeys& written,
                                  SequenceSettings& settings, Problems& problems) {
  const IdProgression* const progression = settings.progression.compiled.get();
  if (progression == nullptr || progression->lowest() >= 1) return;
  settings.text.compiled = nullptr;
  if (settings.text.format == IdFormatSettings().format) return;
  problems.add(
      line_of(written, "format", line), table + ".format",
      "the IDs may come down to " + std::to_string(progression->lowest()) +
          ", and a format writes none below 1; allowed: no format, or a min of at least 1");
}

bool said_by_progression(std::string_view key, const SequenceSettings& settings) {
  return settings.progression.given() && (key == "first_id" || key == "max_value");
}

}  // namespace seqd

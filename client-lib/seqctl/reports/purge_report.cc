#include "client-lib/seqctl/reports/purge_report.h"

#include <vector>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

bool is_true(const json& object, const char* key) {
  return member(object, key) == json(true);
}

std::string counters_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " counter" : " counters");
}

std::string state_of(const json& counter) {
  if (is_true(counter, "removed")) return "removed";
  const std::string why = shown(counter, "why");
  return why == "-" ? "would be removed" : "stays: " + why;
}

}  // namespace

void PurgeReport::add(const json& page) {
  const json counters = member(page, "counters");
  const json after = member(page, "after");
  more_ = is_true(page, "more");
  // A page that leads nowhere would be requested again without end.
  const bool goes_on = after.is_string() && after != json(after_.value_or(""));
  if (!counters.is_array() || (more_ && !goes_on)) {
    understood_ = false;
    more_ = false;
  }
  if (more_) after_ = after.get<std::string>();
  if (!counters.is_array()) return;
  for (const json& counter : counters) count(counter);
}

void PurgeReport::count(const json& counter) {
  counters_.push_back(counter);
  if (is_true(counter, "removed")) {
    ++removed_;
  } else if (shown(counter, "why") != "-") {
    ++kept_;
  } else {
    ++removable_;
  }
}

json PurgeReport::whole() const {
  return {{"name", name_}, {"counters", counters_}};
}

std::string PurgeReport::text(bool complete) const {
  std::vector<std::vector<std::string>> rows = {{"PERIOD", "KEY", "LAST", "STATE"}};
  for (const json& counter : counters_)
    rows.push_back({shown(counter, "period"), shown(counter, "key"), shown(counter, "last"),
                    state_of(counter)});
  std::string text = counters_.empty() ? "" : table(rows);
  if (!understood_) return text + "the daemon's reply is invalid\n";
  if (removed_ + removable_ == 0) {
    text += "no counter " + std::string(removes_ ? "was removed" : "would be removed");
  } else {
    text += counters_text(removes_ ? removed_ : removable_) +
            (removes_ ? " removed" : " would be removed");
  }
  if (kept_ > 0) text += ", " + counters_text(kept_) + (kept_ == 1 ? " stays" : " stay");
  if (!removes_ && removable_ > 0) text += "; nothing was done: this is what --yes would do";
  if (!complete) text += "; there may be more, after the error";
  return text + "\n";
}

int PurgeReport::exit_code() const {
  if (!understood_) return kExitError;
  return !removes_ && removable_ > 0 ? kExitPreview : kExitOk;
}

}  // namespace seqd::seqctl

#include "client-lib/seqctl/reports/advance_report.h"

#include <cstdint>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {

using nlohmann::json;

namespace {

// Of a counter that was exchanged, or is not configured any more, nothing is raised.
bool is_raised(const json& row) {
  const std::string error = shown(row, "error");
  return !error.starts_with("SEQ_CHANGED") && !error.starts_with("NO_SEQUENCE");
}

}  // namespace

json advance_all_preview(const json& list, const std::string& store, bool resume) {
  std::int64_t sequences = 0;
  std::int64_t available = 0;
  if (list.is_array()) {
    for (const json& each : list) {
      if (member(each, "store") != json(store) || inserts(each)) continue;
      if (is_raised(each)) ++sequences;
      const json here = member(each, "available");
      if (here.is_number_integer()) available += here.get<std::int64_t>();
    }
  }
  return {{"store", store}, {"sequences", sequences}, {"available", available}, {"resume", resume}};
}

std::string advance_all_preview_text(const json& preview) {
  const std::string store = shown(preview, "store");
  // `list` does not say of which sequences this host never leased anything.
  std::string text = "the counters of up to " + shown(preview, "sequences") +
                     " sequences of store " + store +
                     " would be raised above every ID that this host has leased\n";
  if (member(preview, "resume") == json(true)) {
    text += "the " + shown(preview, "available") +
            " IDs that are available here would become a gap, and the sequences of a store that is "
            "stopped because an older copy was restored would continue\n"
            "do this only when the counters were raised on every host that used the store: what "
            "another host leased since the copy was made could be leased again\n";
  } else {
    text +=
        "the " + shown(preview, "available") +
        " IDs that are available here would become a gap: at once, or with --resume if the store "
        "is stopped\n"
        "a store that is stopped stays stopped: when this is done on every host that used it, "
        "run the same with --resume on each\n";
  }
  return text +
         "a counter cannot be lowered again; nothing was done: this is what --yes would do\n";
}

std::string advance_all_text(const json& answer) {
  std::string text = "raised: " + shown(answer, "raised") + "\n";
  if (member(answer, "failed") != json(0))
    text += "failed: " + shown(answer, "failed") + ", the first: " + shown(answer, "error") + "\n";
  if (member(answer, "resumed") == json(true)) {
    text += "the sequences of the store continue\n";
  } else if (member(answer, "stopped") == json(true)) {
    text +=
        "the store is still stopped: when this is done on every host that used it, run the "
        "same with --resume on each\n";
  }
  return text;
}

}  // namespace seqd::seqctl

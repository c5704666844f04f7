#include "client-lib/seqctl/id_stream.h"

#include <utility>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {

std::string_view IdStream::separator() {
  if (!has_begun_) {
    has_begun_ = true;
    // The order of the keys is that of to_json_line().
    out_.write(arguments_.as_text ? "{\"name\":" + to_json_line(arguments_.name) + ",\"texts\":["
                                  : std::string("{\"ids\":["));
  }
  return std::exchange(has_elements_, true) ? "," : "";
}

void IdStream::add(std::span<const seqd_run> runs) {
  if (arguments_.format == Format::text) {
    out_.write(ids_text(runs));
    return;
  }
  std::string part;
  for (const seqd_run& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      part += separator();
      part += std::to_string(run.first + i * run.step);
    }
  }
  out_.write(part);
}

void IdStream::add(const std::vector<std::string>& texts) {
  std::string part;
  for (const std::string& text : texts) {
    if (arguments_.format == Format::text) {
      part += text + "\n";
    } else {
      part += separator();
      part += to_json_line(text);
    }
  }
  out_.write(part);
}

void IdStream::finish(bool is_failed) {
  if (arguments_.format == Format::text || (!has_begun_ && is_failed)) return;
  if (!has_begun_) (void)separator();
  out_.write(arguments_.as_text ? std::string("]}\n")
                                : "],\"name\":" + to_json_line(arguments_.name) + "}\n");
}

}  // namespace seqd::seqctl

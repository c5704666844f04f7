#include <algorithm>
#include <chrono>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/latency_report.h"
#include "client-lib/seqctl/live/samples.h"
#include "client-lib/seqctl/live/terminal.h"
#include "client-lib/seqctl/live/watching.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

constexpr std::size_t kBar = 40;     // cells of the longest one
constexpr std::size_t kBeside = 32;  // columns of what stands before it

void print(const Arguments& arguments, LatencyReport& report, Output& out) {
  if (arguments.format == Format::json) {
    out.write(to_json_line(report.value()) + "\n");
    return;
  }
  const Terminal terminal = terminal_of(out.descriptor());
  const std::size_t room = terminal.columns - std::min(terminal.columns, kBeside);
  out.write(report.text(std::clamp<std::size_t>(room, 8, kBar), terminal.utf8));
}

}  // namespace

int run_latency(const Arguments& arguments, seqd_client* client, Output& out, Output& errors) {
  using Clock = std::chrono::steady_clock;
  LatencyReport report;
  Samples samples(arguments.interval_ms, arguments.samples, out);
  // The first one connects, and is not measured.
  Answered answered = ping(client);
  while (answered.ok() && samples.next()) {
    const Clock::time_point begin = Clock::now();
    answered = ping(client);
    if (answered.ok()) report.add(std::chrono::nanoseconds(Clock::now() - begin).count());
  }
  // What was measured before an error or an interruption is printed, too.
  if (!report.empty()) print(arguments, report, out);
  if (!answered.ok()) {
    errors.write(error_text(arguments.format, seqd_error_name(answered.code), answered.error));
    return exit_code(answered.code);
  }
  const int written = exit_code_of_writing(arguments.format, out, errors);
  return written == kExitOk && is_interrupted() ? kExitInterrupted : written;
}

}  // namespace seqd::seqctl

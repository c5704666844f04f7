#include <array>
#include <chrono>
#include <ctime>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/samples.h"
#include "client-lib/seqctl/live/watch_report.h"
#include "client-lib/seqctl/live/watching.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

constexpr std::int64_t kRowsAHeader = 20;

SampleTime time_of(const Samples& samples) {
  const auto wall = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(wall);
  std::tm parts{};
  std::array<char, 16> clock{};
  if (::localtime_r(&seconds, &parts) != nullptr)
    std::strftime(clock.data(), clock.size(), "%H:%M:%S", &parts);
  const auto since = wall.time_since_epoch();
  return {samples.now_ms(), std::chrono::duration_cast<std::chrono::milliseconds>(since).count(),
          clock.data()};
}

}  // namespace

int run_watch(const Arguments& arguments, seqd_client* client, Output& out, Output& errors) {
  WatchReport report(arguments.format, arguments.names, kRowsAHeader);
  Samples samples(arguments.interval_ms, arguments.samples, out);
  const json params = arguments.names;
  for (bool first = true; samples.next(); first = false) {
    const Answered answered = ask(client, "list", params);
    // If the daemon goes away, the next sample is awaited; a refusal is permanent.
    const bool refuses = answered.code == SEQD_E_BAD_REQUEST || answered.code == SEQD_E_TOO_LARGE;
    if (!answered.ok() && (first || refuses)) {
      errors.write(error_text(arguments.format, seqd_error_name(answered.code), answered.error));
      return exit_code(answered.code);
    }
    out.write(answered.ok() ? report.answered(answered.value, time_of(samples))
                            : report.unanswered(seqd_error_name(answered.code), answered.error));
  }
  const int written = exit_code_of_writing(arguments.format, out, errors);
  return written == kExitOk && is_interrupted() ? kExitInterrupted : written;
}

}  // namespace seqd::seqctl

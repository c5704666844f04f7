#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/samples.h"
#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/live/watching.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

constexpr std::int64_t kRowsAHeader = 20;

}  // namespace

int run_stat(const Arguments& arguments, seqd_client* client, Output& out, Output& errors) {
  StatReport report(arguments.format, kRowsAHeader);
  // The first sample only begins the first interval.
  const std::int64_t most = arguments.samples == 0 ? 0 : arguments.samples + 1;
  Samples samples(arguments.interval_ms, most, out);
  for (bool first = true; samples.next(); first = false) {
    const Answered answered = ask(client, "status");
    if (first && !answered.ok()) {
      errors.write(error_text(arguments.format, seqd_error_name(answered.code), answered.error));
      return exit_code(answered.code);
    }
    out.write(answered.ok() ? report.answered(answered.value, samples.now_ms())
                            : report.unanswered(seqd_error_name(answered.code), answered.error));
  }
  const int written = exit_code_of_writing(arguments.format, out, errors);
  return written == kExitOk && is_interrupted() ? kExitInterrupted : written;
}

}  // namespace seqd::seqctl

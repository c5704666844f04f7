#include "client-lib/seqctl/doctor/doctor.h"

#include <cstdlib>

#include "client-lib/seqctl/doctor/checks.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

constexpr const char* kUsualState = "/var/lib/seqd";

// As libseqd finds it.
std::string socket_of(const Arguments& arguments) {
  if (!arguments.socket.empty()) return arguments.socket;
  const char* const set = std::getenv("SEQD_SOCKET");
  return set != nullptr && *set != '\0' ? set : "/run/seqd.sock";
}

}  // namespace

int run_doctor(const Arguments& arguments, seqd_client* client, Output& out, Output& errors) {
  Findings findings;
  check_socket(socket_of(arguments), findings);
  const nlohmann::json status = check_daemon(client, findings);
  std::string state = arguments.state_dir;
  const std::int64_t pid = count_of(status, "pid").value_or(0);
  if (state.empty()) state = state_dir_of(pid);
  if (state.empty()) state = kUsualState;
  check_state_dir(state, findings);
  const std::string& witness = arguments.witness_dir;
  check_witness_dir(witness.empty() ? witness_dir_of(pid) : witness, state, findings);
  check_clock(findings);
  check_unit(pid, findings);
  out.write(arguments.format == Format::json ? to_json_line(findings_value(findings)) + "\n"
                                             : findings_text(findings));
  const int written = exit_code_of_writing(arguments.format, out, errors);
  return written == kExitOk && has_bad(findings) ? kExitError : written;
}

}  // namespace seqd::seqctl

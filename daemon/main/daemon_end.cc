// How a Daemon is decommissioned: the part of daemon.h that ends it for good.
#include <unistd.h>

#include <utility>

#include "daemon/main/daemon.h"
#include "daemon/main/exit_codes.h"
#include "daemon/main/state_removal.h"
#include "daemon/state/decommission_mark.h"

namespace seqd {

Status Daemon::mark(const std::vector<RetiredInstance>& instances) {
  return write_decommission_mark(*state_directory_, instances);
}

Status Daemon::resume_decommission() {
  auto marked = read_decommission_mark(*state_directory_);
  if (!marked.ok()) return marked.status();
  if (marked->has_value()) decommission_->resume(std::move(**marked));
  return {};
}

std::uint32_t Daemon::user() const {
  return geteuid();
}

Status Daemon::decommission(const DecommissionRequest& request,
                            std::function<void(const DecommissionAnswer&)> done) {
  using End = DecommissionReport::End;
  return decommission_->begin(request.only_look, request.timeout_ms,
                              [this, keep_history = request.keep_history,
                               done = std::move(done)](const DecommissionReport& instance) {
                                DecommissionAnswer report{instance, {}, {}};
                                if (instance.end == End::preview || instance.end == End::done) {
                                  StateContents contents = state_contents(
                                      *state_directory_, *witness_directory_, keep_history);
                                  report.removed = std::move(contents.ours);
                                  report.left = std::move(contents.others);
                                }
                                done(report);
                                if (instance.end == End::done) end_for_good(instance, keep_history);
                              });
}

void Daemon::end_for_good(const DecommissionReport& report, bool keep_history) {
  removal_ = keep_history ? Removal::all_but_history : Removal::all;
  std::int64_t issued = 0;
  for (const DecommissionReport::OfSequence& part : report.sequences) issued += part.totals.issued;
  std::string instances;
  for (const DecommissionReport::OfStore& part : report.stores)
    instances += (instances.empty() ? "" : " ") + to_hex(part.instance);
  journal_.raise({EventKind::decommissioned,
                  "this instance is decommissioned; it issued " + std::to_string(issued) +
                      " IDs of " + std::to_string(report.sequences.size()) +
                      " sequences, and its stores have forgotten it",
                  {{"INSTANCE", instances}, {"STATE_DIR", configuration_.daemon.state_dir}}});
  begin_stop({ErrorCode::STOPPING, "this daemon is decommissioned; ask another one"}, 0);
  exit_code_ = kExitDecommissioned;
}

void Daemon::remove_files() {
  if (removal_ == Removal::none) return;
  const bool keep_history = removal_ == Removal::all_but_history;
  removal_ = Removal::none;
  const Status removed = remove_state(*state_directory_, *witness_directory_, keep_history);
  if (removed.ok()) return;
  journal_.raise({EventKind::state_failed,
                  "the files of the decommissioned daemon are not all removed: " +
                      removed.to_string() + "; remove them by hand",
                  {}});
}

}  // namespace seqd

// Daemon: its configuration is read again while it serves.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/main/daemon.h"
#include "daemon/main/daemon_limits.h"

namespace seqd {

Status Daemon::reload(UserId user, std::function<void(const Result<ReloadReport>&)> done) {
  return reloads_.ask(user, std::move(done));
}

// On a worker: the database of users and groups may be a directory service in the network.
void Daemon::load_again(std::function<void(const Result<ReloadReport>&)> done) {
  notifier_.reloading();
  if (!reload_worker_) reload_worker_ = std::make_unique<ThreadWorker>(loop_, "reload", 1);
  const auto next = std::make_shared<std::optional<Result<Configuration>>>();
  const auto load = [this, next, before = configuration_.stores] {
    next->emplace(with_modules(load_configuration(request_), before));
  };
  reload_worker_->submit(load, [this, next, done = std::move(done)] {
    ASSERT(next->has_value());
    // A daemon that stops has answered already.
    if (turn_->serving()) done(apply_configuration(std::move(**next)));
  });
}

Result<ReloadReport> Daemon::apply_configuration(Result<Configuration> next) {
  if (!next.ok()) {
    journal_.raise(
        {EventKind::reload_failed,
         "the new configuration is invalid, the old one stays in force: " + next.status().text(),
         {}});
    notifier_.ready(status_line());
    return next.status();
  }
  std::set<std::string> in_use;
  for (const Sequence* one : table_->sequences().all()) in_use.emplace(base_of(one->name()));
  for (const InsertQueues::View& one : inserts_->list()) in_use.insert(one.name);
  for (const Registers::View& one : registers_->views("", registers_->size()))
    in_use.emplace(base_of(one.name));
  const ConfigurationChanges changes = prepare_reload(configuration_, *next, in_use);
  configuration_ = std::move(*next);
  ReloadReport report{changes.applied, changes.restart_needed};
  for (const std::string& name : table_->apply_settings(table_limits(configuration_)))
    report.restart_needed.push_back("sequence.\"" + name + "\"");
  server_->apply_settings(server_limits(configuration_));
  listener_->set_limits(listener_limits(configuration_));
  history_->set_limits(history_limits(configuration_));
  floor_watch_->set_interval(configuration_.daemon.store_poll_interval_ms);
  table_->accounts().rates().show(MetricsEndpoint::sequences_shown(configuration_.daemon));
  journal_.raise({EventKind::reloaded,
                  "the configuration was read again: " + std::to_string(report.applied.size()) +
                      " options applied, " + std::to_string(report.restart_needed.size()) +
                      " wait for a restart",
                  {}});
  notifier_.ready(status_line());
  return report;
}

}  // namespace seqd

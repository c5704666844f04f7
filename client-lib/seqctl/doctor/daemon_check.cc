#include <unistd.h>

#include <chrono>

#include "client-lib/seqctl/doctor/checks.h"
#include "client-lib/seqctl/live/health.h"
#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using Level = Finding::Level;

constexpr std::size_t kMostOfAKind = 5;  // lines of stores, and of sequences that end soon

bool begins_with(const json& text, const char* beginning) {
  return text.is_string() && text.get_ref<const std::string&>().starts_with(beginning);
}

std::string remedy_of_store(const std::string& state) {
  if (state == "restored") return "OPERATING.md, \"Restoring a store\"";
  if (state == "changed") return "OPERATING.md, \"Moving a store\"";
  if (state == "down" || state == "waiting")
    return "check the database and the connection to it; journalctl -u seqd";
  return "check whether it lasts: seqctl status, journalctl -u seqd";
}

void check_stores(const json& status, Findings& findings) {
  const json stores = member(status, "stores");
  if (!stores.is_array()) return;
  for (std::size_t i = 0; i < stores.size() && i < kMostOfAKind; ++i) {
    const json& store = stores[i];
    const std::string state = shown(store, "state");
    const bool failed = !member(store, "error").is_null();
    // A store that is waiting with an error has not answered since the start, and its sequences
    // issue nothing until then.
    const bool ready = state == "ready" || (state == "waiting" && !failed);
    const std::string text = shown(store, "name") + " (" + shown(store, "type") + ") is " + state +
                             (failed ? ": " + shown(store, "error") : "");
    const Level level = !ready ? Level::bad : failed ? Level::warn : Level::ok;
    findings.push_back({level, "store", text, level == Level::ok ? "" : remedy_of_store(state)});
    const json warning = member(store, "warning");
    if (warning.is_string())
      findings.push_back({Level::warn, "store",
                          shown(store, "name") + ": " + shown(store, "warning"),
                          "STORES.md, \"Services that imitate a store\""});
  }
}

void check_ending(const json& status, Findings& findings) {
  const json ending = member(status, "ending");
  if (!ending.is_array()) return;
  for (std::size_t i = 0; i < ending.size() && i < kMostOfAKind; ++i) {
    const std::string days = shown(ending[i], "days_left");
    findings.push_back({Level::warn, "sequence",
                        shown(ending[i], "name") + " has " + shown(ending[i], "left") +
                            " IDs left to lease" +
                            (days == "-" ? "" : ", for " + days + " days at the present rate"),
                        "raise its `max_value`, or use another sequence"});
  }
}

// Rights come before the parameters, of which this has none: nothing is done in either case.
void check_rights(seqd_client* client, Findings& findings) {
  const Answered answered = ask(client, "purge");
  const std::string user = "user " + std::to_string(::geteuid());
  const bool denied = answered.code == SEQD_E_DENIED;
  if (!denied && answered.code != SEQD_E_BAD_REQUEST) return;
  findings.push_back(
      {Level::ok, "rights",
       denied ? user + " may take IDs, subject to `allow` and `deny`, and may not administer"
              : user + " may take IDs and administer",
       ""});
}

void check_sequences(seqd_client* client, Findings& findings) {
  Readiness readiness;
  if (!check_readiness(client, readiness).ok()) return;
  const json value = readiness.value();
  if (readiness.ready()) {
    findings.push_back({Level::ok, "sequences",
                        shown(value, "sequences") + " in use, all of them can issue IDs", ""});
    return;
  }
  for (const json& why : value["why"]) {
    findings.push_back({Level::bad, "sequence", why.get<std::string>(),
                        "journalctl -x -u seqd explains the error and its remedy"});
  }
}

}  // namespace

void check_status(const json& status, const char* own_version, Findings& findings) {
  if (!status.is_object()) {
    findings.push_back({Level::bad, "daemon", "its reply to status is invalid",
                        "check what listens at the socket: ss -xlp"});
    return;
  }
  const json version = member(status, "version");
  if (version != json(own_version)) {
    findings.push_back(
        {Level::warn, "version",
         "the daemon is " + shown(status, "version") + ", seqctl is " + own_version,
         "install the same version of both; after an upgrade: systemctl restart seqd"});
  }
  if (begins_with(member(status, "state_how"), "forfeited")) {
    findings.push_back(
        {Level::warn, "start",
         "the last start made the available IDs a gap: " + shown(status, "state_how"),
         "keep the witness in memory (see witness), and stop seqd in an orderly way before a "
         "reboot"});
  }
  check_stores(status, findings);
  check_ending(status, findings);
}

json check_daemon(seqd_client* client, Findings& findings) {
  Answered pinged = ping(client);
  const auto begin = std::chrono::steady_clock::now();
  if (pinged.ok()) pinged = ping(client);
  const auto end = std::chrono::steady_clock::now();
  const Answered status = pinged.ok() ? ask(client, "status") : pinged;
  if (!status.ok()) {
    const bool socket_is_bad = has_bad(findings);
    findings.push_back(
        {Level::bad, "daemon", std::string(seqd_error_name(status.code)) + ": " + status.error,
         socket_is_bad ? "see socket"
                       : "systemctl start seqd.service; journalctl -u seqd shows why it ended"});
    return {};
  }
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count();
  findings.push_back({took > 100'000 ? Level::warn : Level::ok, "daemon",
                      "seqd " + shown(status.value, "version") + ", pid " +
                          shown(status.value, "pid") + ", answers in " + std::to_string(took) +
                          " us",
                      took > 100'000 ? "check what else uses its CPU and its disk" : ""});
  check_status(status.value, seqd_version(), findings);
  check_rights(client, findings);
  check_sequences(client, findings);
  return status.value;
}

}  // namespace seqd::seqctl

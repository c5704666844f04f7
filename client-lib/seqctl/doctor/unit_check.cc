#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string_view>

#include "client-lib/seqctl/doctor/checks.h"
#include "client-lib/seqctl/doctor/program.h"

namespace seqd::seqctl {
namespace {

using Level = Finding::Level;

constexpr const char* kUnit = "seqd.service";
// What the unit that comes with seqd has at most, and with a drop-in that opens its network.
constexpr double kExposureOfTheUnit = 0.8;
constexpr double kExposureWithNetwork = 1.5;
constexpr std::string_view kOpenNetwork[] = {"/40-metrics-port.conf", "/50-dynamodb.conf",
                                             "/50-mongodb.conf"};

// KEY=VALUE lines.
std::map<std::string, std::string, std::less<>> properties_of(std::string_view shown) {
  std::map<std::string, std::string, std::less<>> properties;
  while (!shown.empty()) {
    const std::string_view line = shown.substr(0, shown.find('\n'));
    shown.remove_prefix(std::min(shown.size(), line.size() + 1));
    const std::size_t sign = line.find('=');
    if (sign != std::string_view::npos)
      properties.emplace(line.substr(0, sign), line.substr(sign + 1));
  }
  return properties;
}

}  // namespace

void check_unit_properties(const std::string& shown, Findings& findings) {
  auto properties = properties_of(shown);
  if (properties["LoadState"] != "loaded") {
    findings.push_back(
        {Level::unknown, "unit",
         std::string(kUnit) + " is " +
             (properties["LoadState"].empty() ? "not known to systemd" : properties["LoadState"]),
         "if systemd is to start seqd: install its units"});
    return;
  }
  const std::string& state = properties["ActiveState"];
  const std::string& restarts = properties["NRestarts"];
  const bool failed = state == "failed";
  // seqd.socket starts an inactive one.
  const bool steady = state == "active" || state == "inactive";
  const bool again = !restarts.empty() && restarts != "0";
  findings.push_back(
      {failed             ? Level::bad
       : again || !steady ? Level::warn
                          : Level::ok,
       "unit",
       std::string(kUnit) + " is " + state + (failed ? ", result " + properties["Result"] : "") +
           (again ? ", and was started again " + restarts + " times by systemd" : ""),
       failed || again ? "journalctl -x -u seqd shows why it ended"
       : steady        ? ""
                       : "it is starting or stopping: repeat the check in a few seconds"});
}

void check_network(const std::string& shown, const std::string& host_network,
                   const std::string& daemon_network, Findings& findings) {
  auto properties = properties_of(shown);
  if (properties["LoadState"] != "loaded" || host_network.empty() || daemon_network.empty()) return;
  // An administrator configured another network.
  if (!properties["NetworkNamespacePath"].empty()) return;
  const bool shut = properties["PrivateNetwork"] == "yes";
  if (shut == (host_network != daemon_network)) return;
  findings.push_back(
      {shut ? Level::warn : Level::bad, "network",
       shut ? "the daemon has the network of the host, and " + std::string(kUnit) + " gives it none"
            : "the daemon has no network, and " + std::string(kUnit) +
                  " gives it that of the host: it was started before systemd knew the drop-in",
       "systemctl restart seqd"});
}

void check_exposure(const std::string& analyzed, const std::string& shown, Findings& findings) {
  constexpr std::string_view kBefore = "Overall exposure level for seqd.service: ";
  const std::size_t at = analyzed.find(kBefore);
  if (at == std::string::npos) return;
  const char* const begin = analyzed.data() + at + kBefore.size();
  double level = 0;
  const auto read = std::from_chars(begin, analyzed.data() + analyzed.size(), level);
  if (read.ec != std::errc()) return;
  const std::string drop_ins = properties_of(shown)["DropInPaths"];
  const bool open = std::any_of(std::begin(kOpenNetwork), std::end(kOpenNetwork), [&](auto name) {
    return drop_ins.find(name) != std::string::npos;
  });
  const bool wide = level > (open ? kExposureWithNetwork : kExposureOfTheUnit);
  findings.push_back(
      {wide ? Level::warn : Level::ok, "hardening",
       "systemd-analyze security finds an exposure of " + std::string(begin, read.ptr) +
           (open ? ", with the network that a drop-in opens" : ""),
       wide ? "a drop-in relaxes the hardening of the unit: systemctl cat seqd, systemd-analyze "
              "security seqd"
            : ""});
}

void check_unit(std::int64_t pid, Findings& findings) {
  struct stat facts {};
  if (::stat("/run/systemd/system", &facts) != 0) {
    findings.push_back({Level::unknown, "unit", "systemd does not run here", ""});
    return;
  }
  const auto shown = printed_by({"systemctl", "show", kUnit,
                                 "--property=LoadState,ActiveState,Result,NRestarts,MainPID,"
                                 "PrivateNetwork,NetworkNamespacePath,DropInPaths"});
  if (!shown) {
    findings.push_back({Level::unknown, "unit", "systemctl does not answer", ""});
    return;
  }
  check_unit_properties(*shown, findings);
  if (pid > 0 && properties_of(*shown)["MainPID"] == std::to_string(pid))
    check_network(*shown, network_of(1), network_of(pid), findings);
  if (const auto analyzed = printed_by({"systemd-analyze", "security", "--no-pager", kUnit}))
    check_exposure(*analyzed, *shown, findings);
}

}  // namespace seqd::seqctl

#include "client-lib/seqctl/reports/clients_report.h"

#include <map>
#include <vector>

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

// How long ago, to the second.
std::string age_text(const json& client) {
  const json age = member(client, "connected_ms");
  if (!age.is_number_integer()) return "-";
  const auto ms = age.get<std::int64_t>();
  return ms < 1'000 ? "0 s" : duration_text(ms - ms % 1'000);
}

}  // namespace

std::string clients_text(const json& clients,
                         const std::function<std::string(std::uint32_t uid)>& user_name) {
  std::map<std::uint32_t, std::string> users;
  const auto user_of = [&](const json& client) -> std::string {
    const json uid = member(client, "uid");
    if (!uid.is_number_integer() || uid < 0 || uid > UINT32_MAX) return "-";
    const auto [found, is_new] = users.try_emplace(uid.get<std::uint32_t>());
    if (is_new) found->second = printable(user_name(found->first));
    return found->second;
  };
  std::vector<std::vector<std::string>> rows = {
      {"USER", "PID", "NAME", "CONNECTED", "REQUESTS", "WAITING", "IDS"}};
  if (clients.is_array()) {
    for (const json& each : clients) {
      rows.push_back({user_of(each), shown(each, "pid"), shown(each, "name"), age_text(each),
                      shown(each, "requests"), shown(each, "waiting"), shown(each, "ids")});
    }
  }
  return table(rows);
}

}  // namespace seqd::seqctl

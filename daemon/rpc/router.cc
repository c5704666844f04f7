#include <array>
#include <string>

#include "daemon/rpc/method_list.h"

namespace seqd {
namespace {

constexpr std::array kRoutes = {
    Route{"next", method_next},
    Route{"range", method_range},
    Route{"peek", method_peek},
    Route{"list", method_list},
    Route{"status", method_status},
    Route{"ping", method_ping},
    Route{"hello", method_hello},
    Route{"ack", method_ack},
    Route{"reload", method_reload, Right::administer},
    Route{"advance", method_advance, Right::administer},
    Route{"gaps", method_gaps},
    Route{"explain", method_explain},
    Route{"audit", method_audit},
    Route{"drain", method_drain, Right::administer},
    Route{"next_text", method_next_text},
    Route{"parse", method_parse},
    Route{"decommission", method_decommission, Right::administer},
    Route{"insert", method_insert},
    Route{"advance_store", method_advance_store, Right::administer},
    Route{"purge", method_purge, Right::administer},
    Route{"page", method_page},
    Route{"block", method_block},
    Route{"clients", method_clients},
    Route{"config", method_config, Right::administer},
    Route{"rights", method_rights},
};

static_assert(kRoutes.size() == ServerCounts::kMethods);
// Server counts those by their places.
static_assert(kRoutes[0].name == "next" && kRoutes[1].name == "range");

}  // namespace

std::span<const Route> all_routes() {
  return kRoutes;
}

const Route* find_method(std::string_view name) {
  for (const Route& route : kRoutes) {
    if (route.name == name) return &route;
  }
  return nullptr;
}

std::string method_names() {
  std::string names;
  for (const Route& route : kRoutes) {
    if (!names.empty()) names += ", ";
    names += route.name;
  }
  return names;
}

}  // namespace seqd

#include <array>
#include <string>

#include "daemon/rpc/method_list.h"

namespace seqd {
namespace {

constexpr std::array kRoutes = {
#define METHOD(name, right, reply) \
  Route{#name, MethodId::name, method_##name, Right::right, ReplySize::reply},
#include "daemon/rpc/methods.def"
#undef METHOD
};

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

// Any bytes as seqd.toml: no crash, no hang, and what is accepted keeps the promises of config.h: a
// dump of it is accepted again and says the same.
//
// clang-format off
// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/* daemon/main/config
// link: daemon/main/config/*
// link: daemon/os/journal/event_line.cc daemon/os/credentials.cc daemon/os/aes.cc
// link: daemon/os/time_zones.cc daemon/store/dynamo/dynamo_names.cc
// link: daemon/store/dynamo/dynamo_options.cc daemon/store/dynamo/credentials/aws_address.cc
// link: daemon/store/dynamo/credentials/aws_credentials.cc
// link: daemon/store/dynamo/credentials/aws_profiles.cc
// link: daemon/uv/loopback_address.cc daemon/store/counter_value.cc daemon/store/lease_trace.cc
// link: daemon/os/users.cc
// libs: -lfmt -lnettle -labsl_time -labsl_time_zone
// seeds: tests/fuzz/config_seeds.py
// clang-format on
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/assertion.h"
#include "daemon/main/config/config.h"

namespace {

// Secrets are masked in a dump, so that a store with a URI cannot be read from it again.
bool has_secret(const seqd::Configuration& configuration) {
  for (const auto& [name, store] : configuration.stores)
    if (store.type == seqd::StoreType::mongodb) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  seqd::ConfigurationRequest request;
  request.need_credentials = false;
  auto configuration = seqd::parse_configuration(text, "f", request);
  if (!configuration.ok()) {
    ASSERT(configuration.status().code() == seqd::ErrorCode::CONFIG);
    ASSERT(!configuration.status().text().empty());
    return 0;
  }
  ASSERT(!configuration->stores.empty());
  ASSERT(configuration->stores.contains(configuration->daemon.default_store));
  if (const auto* settings = configuration->find("orders")) {
    ASSERT(configuration->stores.contains(settings->store));
    ASSERT(settings->lease_min <= settings->lease_max);
    ASSERT(settings->lease_max <= settings->max_available);
    ASSERT(settings->max_unsynced <= settings->max_available);
  }
  if (has_secret(*configuration)) return 0;
  const std::string dump = seqd::dump_effective(*configuration);
  auto again = seqd::parse_configuration(dump, "f", request);
  ASSERT(again.ok());
  ASSERT(seqd::dump_effective(*again) == dump);
  ASSERT(seqd::prepare_reload(*configuration, *again, {}).restart_needed.empty());
  return 0;
}

// Any bytes as seqd.toml: no crash, no hang, and what is accepted keeps the promises of config.h: a
// dump of it is accepted again and says the same.
//
// link: protocol daemon/base daemon/main/config*.cc daemon/main/options*.cc
// link: daemon/core/lease_store.cc daemon/os/event_line.cc daemon/os/utf8.cc
// link: daemon/os/credentials.cc daemon/os/aes.cc daemon/os/time_zones.cc
// link: daemon/core/id_date.cc daemon/core/id_template.cc daemon/core/id_text.cc
// link: daemon/core/id_format.cc
// libs: -lcrypto -ldate-tz
#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/check.h"
#include "daemon/main/config.h"

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
    CHECK(configuration.status().code() == seqd::ErrorCode::CONFIG);
    CHECK(!configuration.status().text().empty());
    return 0;
  }
  CHECK(!configuration->stores.empty());
  CHECK(configuration->stores.contains(configuration->daemon.default_store));
  if (const auto* settings = configuration->find("orders")) {
    CHECK(configuration->stores.contains(settings->store));
    CHECK(settings->lease_min <= settings->lease_max);
    CHECK(settings->lease_max <= settings->gap_budget);
    CHECK(settings->reserve_ahead <= settings->gap_budget);
  }
  if (has_secret(*configuration)) return 0;
  const std::string dump = seqd::dump_effective(*configuration);
  auto again = seqd::parse_configuration(dump, "f", request);
  CHECK(again.ok());
  CHECK(seqd::dump_effective(*again) == dump);
  CHECK(seqd::prepare_reload(*configuration, *again).restart_needed.empty());
  return 0;
}

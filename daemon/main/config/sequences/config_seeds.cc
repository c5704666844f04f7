#include "daemon/main/config/sequences/config_seeds.h"

#include <string_view>

#include "daemon/main/config/config_stores.h"

namespace seqd {
namespace {

constexpr const char* kCollection = "seed_collection";
constexpr const char* kField = "seed_field";

// "a", "a.b": no part is empty, and none is an operator.
bool is_path(std::string_view field) {
  bool begins = true;
  for (const char c : field) {
    if (begins && (c == '.' || c == '$')) return false;
    begins = c == '.';
  }
  return !begins;
}

}  // namespace

void relate_seed(const std::string& table, int line, const WrittenKeys& written,
                 const SequenceSettings& settings, const Configuration& configuration,
                 Problems& problems) {
  const CounterBinding& binding = settings.binding;
  const auto report = [&](const char* key, const std::string& what) {
    problems.add(line_of(written, key, line), table + "." + key, what);
  };
  if (binding.seed_collection.empty()) {
    if (written.contains(kField)) report(kField, "found without seed_collection; allowed: with it");
    return;
  }
  if (!binding.seed_field.empty() && !is_path(binding.seed_field)) {
    report(kField, "found \"" + binding.seed_field +
                       "\"; allowed: names of fields with a dot between them, none empty or "
                       "beginning with \"$\"");
  }
  const auto store = configuration.stores.find(settings.store);
  if (store != configuration.stores.end() && store->second.type != StoreType::mongodb) {
    report(kCollection, "a store of type " + std::string(store_type_name(store->second.type)) +
                            " cannot find the highest number of a collection; allowed: in "
                            "sequences of a store of type mongodb (set first_id instead)");
  }
  if (settings.progression.compiled != nullptr) {
    report(kCollection,
           "with this progression the number in the store is an ordinal; allowed: without a "
           "progression, or set start instead");
  }
}

}  // namespace seqd

#include "daemon/main/config/config_values.h"

#include <type_traits>

#include "daemon/main/config/config_relations.h"
#include "daemon/main/config/config_stores.h"
#include "daemon/main/config/sequences/config_progressions.h"

namespace seqd {

template <typename Settings>
std::vector<EffectiveValue> effective_values(const Settings& settings) {
  std::vector<EffectiveValue> out;
  for (const Option<Settings>& option : options<Settings>()) {
    if constexpr (std::is_same_v<Settings, SequenceSettings>) {
      if (said_by_progression(option.key, settings)) continue;
      if (settings.mode == SequenceMode::registers && is_of_leases(option.key)) continue;
    }
    const OptionValue value = option.read(settings);
    // Text that is not given has no default to be written.
    if (const auto* text = std::get_if<std::string>(&value);
        text != nullptr && text->empty() && option.type != OptionType::users)
      continue;
    out.push_back({&option, format_option(option, value)});
  }
  return out;
}

template std::vector<EffectiveValue> effective_values(const DaemonSettings&);
template std::vector<EffectiveValue> effective_values(const Limits&);
template std::vector<EffectiveValue> effective_values(const SequenceSettings&);

std::vector<EffectiveValue> effective_values_of_store(StoreSettings store) {
  const bool mongodb = store.type == StoreType::mongodb;
  store.uri = mongodb && store.uri_file.empty() ? mask_uri(store.uri) : std::string();
  std::vector<EffectiveValue> out;
  for (const Option<StoreSettings>& option : options<StoreSettings>()) {
    if (!fits_store_type(option.key, store.type)) continue;
    const OptionValue value = option.read(store);
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->empty())
      continue;
    out.push_back({&option, format_option(option, value)});
  }
  return out;
}

}  // namespace seqd

#include "daemon/core/settings/counter_identity.h"

#include <algorithm>

namespace seqd {
namespace {

std::string counter_text(const CounterBinding& binding, std::string_view key) {
  constexpr std::size_t kRoom = 16;  // for what else comes into the text
  std::string text;
  text.reserve(binding.collection.size() + binding.key_field.size() + key.size() +
               binding.counter_field.size() + kRoom);
  text.append(binding.collection).append(" ").append(binding.key_field);
  text.append(binding.key_type == KeyType::integer ? "=#" : "=").append(key).append(" ");
  return text.append(binding.counter_field).append(" ");
}

// Of a binding_text() what follows the counter. That is one of three words and a progression, which
// has none of them; a key may have all of them.
struct Ordinals {
  std::string_view meaning;
  std::string_view progression;  // with its leading space; empty: the ordinals are the IDs
};

Ordinals ordinals_of(std::string_view binding) {
  const std::string_view rest = binding.substr(counter_of(binding).size());
  const std::size_t end = std::min(rest.find(' '), rest.size());
  return {rest.substr(0, end), rest.substr(end)};
}

}  // namespace

std::string binding_text(const CounterBinding& binding, const ProgressionSettings& progression) {
  return binding_text(binding, binding.key, progression);
}

std::string binding_text(const CounterBinding& binding, std::string_view key,
                         const ProgressionSettings& progression) {
  return counter_text(binding, key)
      .append(meaning_word(binding.meaning))
      .append(progression_text(progression));
}

std::string_view counter_of(std::string_view binding) {
  std::size_t end = 0;
  for (const Meaning meaning : {Meaning::last, Meaning::next, Meaning::unset}) {
    const std::size_t at = binding.rfind(std::string(" ") + meaning_word(meaning));
    if (at != std::string_view::npos) end = std::max(end, at + 1);
  }
  return binding.substr(0, end);
}

std::shared_ptr<const IdProgression> held_progression(const std::string& held,
                                                      const ProgressionSettings& configured) {
  const std::string_view text = ordinals_of(held).progression;
  if (text.empty() || counter_of(held).empty()) return nullptr;
  if (text == progression_text(configured)) return configured.compiled;
  return read_progression(text.substr(1));
}

bool same_ordinals(const std::string& held, const CounterBinding& configured,
                   const ProgressionSettings& progression) {
  const Ordinals were = ordinals_of(held);
  // Another progression would issue again the IDs that are out.
  if (were.progression != progression_text(progression)) return false;
  // A meaning that was not configured is the store's own, which has not changed.
  return were.meaning == meaning_word(Meaning::unset) || configured.meaning == Meaning::unset ||
         were.meaning == meaning_word(configured.meaning);
}

bool same_counter(const std::string& held, const CounterBinding& configured,
                  const ProgressionSettings& progression) {
  return counter_of(held) == counter_text(configured, configured.key) &&
         same_ordinals(held, configured, progression);
}

}  // namespace seqd

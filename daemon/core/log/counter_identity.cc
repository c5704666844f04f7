#include "daemon/core/log/counter_identity.h"

#include <algorithm>

namespace seqd {

const char* meaning_word(Meaning meaning) {
  switch (meaning) {
    case Meaning::last:
      return "last";
    case Meaning::next:
      return "next";
    case Meaning::unset:
      break;
  }
  return "unset";
}

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

std::shared_ptr<const IdProgression> held_progression(const std::string& held,
                                                      const ProgressionSettings& configured) {
  const std::string now = progression_text(configured);
  // It is the end of the text. A key may be anything, and a word for the meaning follows it.
  const std::size_t begin = std::min(held.rfind(" start="), held.size());
  const auto says = [counter = std::string_view(held).substr(0, begin)](Meaning meaning) {
    return counter.ends_with(std::string(" ") + meaning_word(meaning));
  };
  if (begin == held.size()) return nullptr;
  if (!says(Meaning::last) && !says(Meaning::next) && !says(Meaning::unset)) return nullptr;
  if (std::string_view(held).substr(begin) == now) return configured.compiled;
  return read_progression(std::string_view(held).substr(begin + 1));
}

bool same_counter(const std::string& held, const CounterBinding& configured,
                  const ProgressionSettings& progression) {
  const std::string counter = counter_text(configured, configured.key);
  if (held.compare(0, counter.size(), counter) != 0) return false;
  // Another progression would issue again the IDs that are out.
  std::string meaning = held.substr(counter.size());
  const std::size_t end = std::min(meaning.find(' '), meaning.size());
  if (meaning.substr(end) != progression_text(progression)) return false;
  meaning.resize(end);
  // A meaning that was not configured is the store's own, which has not changed.
  return meaning == "unset" || configured.meaning == Meaning::unset ||
         meaning == meaning_word(configured.meaning);
}

}  // namespace seqd

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

std::string counter_text(const CounterBinding& binding) {
  const char* const type = binding.key_type == KeyType::integer ? "=#" : "=";
  return binding.collection + " " + binding.key_field + type + binding.key + " " +
         binding.counter_field + " ";
}

}  // namespace

std::string binding_text(const CounterBinding& binding, const ProgressionSettings& progression) {
  return counter_text(binding) + meaning_word(binding.meaning) + progression_text(progression);
}

bool same_counter(const std::string& held, const CounterBinding& configured,
                  const ProgressionSettings& progression) {
  const std::string counter = counter_text(configured);
  if (held.compare(0, counter.size(), counter) != 0) return false;
  // Another progression would give the IDs that are out to somebody else.
  std::string meaning = held.substr(counter.size());
  const std::size_t end = std::min(meaning.find(' '), meaning.size());
  if (meaning.substr(end) != progression_text(progression)) return false;
  meaning.resize(end);
  // A meaning that was not said is the store's own, which has not changed.
  return meaning == "unset" || configured.meaning == Meaning::unset ||
         meaning == meaning_word(configured.meaning);
}

}  // namespace seqd

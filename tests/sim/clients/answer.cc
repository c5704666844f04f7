#include "tests/sim/clients/answer.h"

#include "tests/sim/configuration/text_forms.h"

namespace seqd::sim {

std::optional<Ordinals> ordinals_of(const SequenceSettings& home, const Answer& answer) {
  Ordinals out;
  const IdProgression* const progression = home.progression.compiled.get();
  for (const protocol::Run& run : answer.runs) {
    if (progression == nullptr) {
      if (run.step != 1) return std::nullopt;
      out.emplace_back(run.first, run.first + run.count);
      continue;
    }
    if (begins_again(home)) continue;
    const std::int64_t step = progression->form().increment;
    const std::int64_t last = run.first + (run.count - 1) * step;
    const auto begin = progression->find(run.first, kLastOrdinal);
    const auto end = progression->find(last, kLastOrdinal);
    const bool whole = begin && end && end->ordinal - begin->ordinal == run.count - 1;
    if (!whole || (run.step != step && run.count > 1)) return std::nullopt;
    out.emplace_back(begin->ordinal, end->ordinal + 1);
  }
  return out;
}

std::optional<ParsedId> read_text(const SequenceSettings& home, const std::string& name,
                                  std::string_view text) {
  return TextForms::of(home.periods.rule != nullptr).read(name, text);
}

}  // namespace seqd::sim

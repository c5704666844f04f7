// The part of sequence_table.h that prevents two IDs with the same text when the format, the key or
// the periods of a sequence change.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/names/id_form.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {
namespace {

Status changed_too_often(const DefineName& known) {
  return {ErrorCode::SEQ_CHANGED,
          "the format of \"" + known.name + "\" was changed " + std::to_string(known.forms.size()) +
              " times, and further changes cannot be distinguished: configure a former one, or "
              "give the sequence another name"};
}

}  // namespace

Result<std::optional<TextForm>> SequenceTable::admit_text(SequenceId id) {
  const Sequence& sequence = at(id);
  const SequenceSettings& settings = sequence.settings();
  if (settings.text.compiled == nullptr) return no_format(sequence.name(), settings);
  const DefineName& known = define_name(base_of(sequence.name()));
  const std::string form = form_of(settings);
  if (Status other = check_form(known, form); !other.ok()) return other;
  const auto recorded = std::find(known.forms.begin(), known.forms.end(), form);
  if (recorded == known.forms.end()) {
    // While there is no ID for it, nobody knows whether there will be a text.
    if (sequence.held().issuable() == 0) return std::optional<TextForm>();
    if (known.forms.size() >= DefineName::kMostForms) return changed_too_often(known);
    if (!budgets_.may_define_form(form)) {
      return Status(ErrorCode::BUSY, "the log has no room for another format of \"" + known.name +
                                         "\" (daemon.state_log_size)");
    }
    budgets_.form_defined(form);
    names_.add_form(known.name, form);
    return std::optional<TextForm>();
  }
  if (!names_.is_durable(known.name)) return std::optional<TextForm>();
  return std::optional(static_cast<TextForm>(recorded - known.forms.begin()));
}

}  // namespace seqd

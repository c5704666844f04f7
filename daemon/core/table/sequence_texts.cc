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

Status may_come_again(const std::string& name, const std::string& former, const std::string& now) {
  return {ErrorCode::SEQ_CHANGED,
          "a text of \"" + name + "\" as it is written now (" + form_shown(now) +
              ") may be one that was issued before (" + form_shown(former) +
              "): configure the former format, key and period again, or a format that differs "
              "from it in a character at a place that both have, as another prefix, or give the "
              "sequence another name"};
}

Status changed_too_often(const DefineName& known) {
  return {ErrorCode::SEQ_CHANGED,
          "the format of \"" + known.name + "\" was changed " + std::to_string(known.forms.size()) +
              " times, and further changes cannot be distinguished: configure a former one, or "
              "give the sequence another name"};
}

Status check_form(const DefineName& known, const std::string& form) {
  for (const std::string& former : known.forms) {
    if (may_repeat(former, form)) return may_come_again(known.name, former, form);
  }
  return {};
}

}  // namespace

Status SequenceTable::check_text(SequenceId id) const {
  const Sequence& sequence = at(id);
  if (sequence.settings().text.compiled == nullptr)
    return no_format(sequence.name(), sequence.settings());
  const auto known = names_.find(base_of(sequence.name()));
  if (known == names_.end()) return {};
  return check_form(known->second, form_of(sequence.settings()));
}

Result<std::optional<TextForm>> SequenceTable::admit_text(SequenceId id) {
  const Sequence& sequence = at(id);
  const SequenceSettings& settings = sequence.settings();
  if (settings.text.compiled == nullptr) return no_format(sequence.name(), settings);
  DefineName& known = know_name(base_of(sequence.name()));
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
    add_form(known, form);
    return std::optional<TextForm>();
  }
  if (forms_open_.contains(known.name)) return std::optional<TextForm>();
  return std::optional(static_cast<TextForm>(recorded - known.forms.begin()));
}

// What is lost in a power cut must not have been sent: the next form is compared with it.
void SequenceTable::add_form(DefineName& known, const std::string& form) {
  budgets_.form_defined(form);
  known.forms.push_back(form);
  context_.log.append(known);
  context_.log.make_durable();
  forms_open_[known.name] = context_.log.next_position();
}

Status SequenceTable::check_repeat(const Issued& issue) const {
  const Sequence& sequence = at(issue.sequence);
  const SequenceSettings& settings = sequence.settings();
  const auto known = names_.find(base_of(sequence.name()));
  const std::string* former = nullptr;
  if (known != names_.end() && issue.form < known->second.forms.size()) {
    former = &known->second.forms[issue.form];
  }
  const bool has_format = settings.text.compiled != nullptr;
  if (former != nullptr && has_format && *former == form_of(settings)) return {};
  return {ErrorCode::SEQ_CHANGED,
          "this request was answered with a text of \"" + sequence.name() + "\" as " +
              (former == nullptr ? "a former format writes it" : form_shown(*former)) +
              ", and gets no other one; configure that again, and repeat it"};
}

}  // namespace seqd

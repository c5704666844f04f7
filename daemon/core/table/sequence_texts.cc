// The part of sequence_table.h that prevents two IDs with the same text when the format, the key or
// the periods of a sequence change.
#include <algorithm>
#include <string>

#include "daemon/core/table/sequence_table.h"
#include "daemon/core/text/id_form.h"

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

}  // namespace

Status SequenceTable::admit_text(SequenceId id) {
  const Sequence& sequence = at(id);
  const SequenceSettings& settings = sequence.settings();
  if (settings.text.compiled == nullptr) return {};
  DefineName& known = know_name(base_of(sequence.name()), settings);
  const std::string form = form_of(settings);
  const std::string_view period = period_of(sequence.name());
  for (const std::string& former : known.forms) {
    if (may_repeat(former, form, period)) return may_come_again(known.name, former, form);
  }
  if (std::find(known.forms.begin(), known.forms.end(), form) != known.forms.end()) {
    if (forms_open_.contains(known.name)) at(id).hold();
    return {};
  }
  if (known.forms.size() >= DefineName::kMostForms) {
    return {ErrorCode::SEQ_CHANGED,
            "the format of \"" + known.name + "\" was changed " +
                std::to_string(known.forms.size()) +
                " times, and further changes cannot be distinguished: configure a former one, or "
                "give the sequence another name"};
  }
  if (!accounts_.may_define_form(form)) {
    return {ErrorCode::BUSY, "the log has no room for another format of \"" + known.name +
                                 "\" (daemon.state_log_size)"};
  }
  add_form(known, form);
  context_.log.append(known);
  at(id).hold();
  return {};
}

// What is lost in a power cut must not have been sent: the next form is compared with it.
void SequenceTable::add_form(DefineName& known, const std::string& form) {
  accounts_.form_defined(form);
  known.forms.push_back(form);
  forms_open_[known.name] = context_.log.next_position();
}

Status SequenceTable::admit_reply(SequenceId id) {
  if (Status status = admit_text(id); !status.ok()) return status;
  const std::string_view base = base_of(at(id).name());
  if (!forms_open_.contains(base)) return {};
  return {ErrorCode::UNAVAILABLE,
          "the format of \"" + std::string(base) + "\" is new and is being recorded; try again"};
}

}  // namespace seqd

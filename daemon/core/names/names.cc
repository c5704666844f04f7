#include "daemon/core/names/names.h"

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/names/forgotten_periods.h"
#include "daemon/core/names/id_form.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {
namespace {

bool has_no_more(const DefineName& known) {
  return known == DefineName{known.name, 0, {}, {}};
}

}  // namespace

// --- at a start

void Names::restore(const DefineName& known, bool own) {
  if (own && has_no_more(known)) return;
  records_.emplace_hint(records_.end(), known.name, known);
}

// --- what is known

const DefineName* Names::find(std::string_view base) const {
  const auto found = records_.find(base);
  return found == records_.end() ? nullptr : &found->second;
}

bool Names::is_plain(std::string_view name) const {
  return base_of(name) == name && !records_.contains(name);
}

const DefineName& Names::record_for(std::string_view base, bool own) {
  if (const DefineName* const found = find(base)) return *found;
  const bool is_logged = own && is_plain(base);
  DefineName& known = records_[std::string(base)];
  known.name = base;
  if (!is_logged) log_.append(known);
  return known;
}

void Names::settle(std::string_view name) {
  const auto known = records_.find(name);
  if (known != records_.end() && has_no_more(known->second)) records_.erase(known);
}

std::vector<std::string> Names::forget(std::string_view base) {
  if (const auto open = forms_durable_at_.find(base); open != forms_durable_at_.end())
    forms_durable_at_.erase(open);
  const auto known = records_.find(base);
  if (known == records_.end()) return {};
  std::vector<std::string> forms = std::move(known->second.forms);
  records_.erase(known);
  return forms;
}

// --- periods

DefineName& Names::existing_record(std::string_view base) {
  const auto found = records_.find(base);
  ASSERT(found != records_.end());
  return found->second;
}

void Names::note_begun(std::string_view base, const PeriodSettings& period, std::int64_t now_s) {
  DefineName& known = existing_record(base);
  if (!period.current || period.current->begin_s <= known.newest_s) return;
  if (period.current->begin_s > now_s) return;
  known.newest_s = period.current->begin_s;
  log_.append(known);
}

void Names::set_back(std::string_view base, std::int64_t begin_s) {
  DefineName& known = existing_record(base);
  if (known.newest_s <= begin_s) return;
  known.newest_s = begin_s;
  log_.append(known);
}

void Names::add_forgotten_period(std::string_view base, PeriodSpan span) {
  DefineName& known = existing_record(base);
  add_forgotten(known.forgotten, span);
  log_.append(known);
}

bool Names::has_forgotten(std::string_view name) const {
  const DefineName* const known = find(base_of(name));
  const PeriodRule* const rule = periods_.rule_of(base_of(name));
  if (known == nullptr || rule == nullptr) return false;
  const std::optional<Period> period = rule->named(period_of(name));
  return period && high_water_of_forgotten(known->forgotten, *period) > 0;
}

// --- texts

// What is lost in a power cut must not have been sent: the next form is compared with it.
void Names::add_form(std::string_view base, const std::string& form) {
  DefineName& known = existing_record(base);
  known.forms.push_back(form);
  log_.append(known);
  log_.make_durable();
  forms_durable_at_[known.name] = log_.next_position();
}

Status Names::check_text(std::string_view name, const SequenceSettings& settings) const {
  if (settings.text.compiled == nullptr) return no_format(name, settings);
  const DefineName* const known = find(base_of(name));
  return known == nullptr ? Status() : check_form(*known, form_of(settings));
}

Status Names::check_repeat(std::string_view name, const SequenceSettings& settings,
                           TextForm form) const {
  const DefineName* const known = find(base_of(name));
  const std::string* former = nullptr;
  if (known != nullptr && form < known->forms.size()) former = &known->forms[form];
  const bool has_format = settings.text.compiled != nullptr;
  if (former != nullptr && has_format && *former == form_of(settings)) return {};
  return {ErrorCode::SEQ_CHANGED,
          "this request was answered with a text of \"" + std::string(name) + "\" as " +
              (former == nullptr ? "a former format writes it" : form_shown(*former)) +
              ", and gets no other one; configure that again, and repeat it"};
}

void Names::durable(LogPosition position) {
  std::erase_if(forms_durable_at_, [position](const auto& one) { return one.second <= position; });
}

void Names::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  for (const auto& [name, known] : records_) entry(known);
  registers_.snapshot(entry);
}

}  // namespace seqd

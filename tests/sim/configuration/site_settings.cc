#include "tests/sim/configuration/site_settings.h"

#include <algorithm>
#include <utility>

#include "daemon/core/names/id_form.h"
#include "daemon/core/settings/counter_identity.h"
#include "tests/sim/configuration/text_forms.h"

namespace seqd::sim {

bool SiteSettings::knows(const LogMirror& log, const std::string& name) const {
  if (!log.is_known()) return false;
  const auto& sequences = log.image().sequences;
  return std::any_of(sequences.begin(), sequences.end(),
                     [&](const auto& one) { return base_of(one.second.definition.name) == name; });
}

// The form of the family that the rival belongs to.
bool SiteSettings::knows_form(const LogMirror& log, const std::string& name) const {
  if (!log.is_known()) return false;
  const auto known = log.image().names.find(name);
  if (known == log.image().names.end()) return false;
  SequenceSettings settings = home_.by_name.at(name);
  TextForms::of(settings.periods.rule != nullptr).set(choices_.at(name).form, settings);
  const auto& forms = known->second.forms;
  return std::find(forms.begin(), forms.end(), form_of(settings)) != forms.end();
}

void SiteSettings::write_other_progression(SequenceSettings& settings, std::int64_t how) {
  IdProgression::Form form;
  if (settings.progression.compiled != nullptr) form = settings.progression.compiled->form();
  if (form.max == kLastOrdinal) form.max = 1'000'000;
  const bool starts_elsewhere = how == 1 && form.increment != 1;
  if (starts_elsewhere) {
    form.start += form.start < form.max ? 1 : -1;
  } else if (how == 2) {
    form.cycle = !form.cycle;
  } else {
    form.increment += form.increment > 0 ? 1 : -1;
  }
  // As in the configuration: the IDs are the ordinals then.
  const bool counts_ids = form.increment == 1 && !form.cycle && form.start == 1;
  settings.progression = {form.start, form.increment, form.min, form.max, form.cycle, nullptr};
  if (counts_ids) {
    settings.max_value = form.max;
  } else {
    settings.progression.compiled = std::make_shared<IdProgression>(form);
    settings.blocks = false;
  }
  if (!counts_ids && settings.progression.compiled->lowest() < 1) settings.text.compiled = nullptr;
}

void SiteSettings::write(const std::string& name) {
  const Choice& choice = choices_[name];
  SequenceSettings settings = home_.by_name.at(name);
  const TextForms& forms = TextForms::of(settings.periods.rule != nullptr);
  const bool has_text = settings.text.compiled != nullptr;
  if (has_text && choice.rival) forms.set_rival(choice.form, settings);
  if (has_text && !choice.rival) forms.set(choice.form, settings);
  switch (choice.other) {
    case Other::none:
      break;
    case Other::unit:
      settings.periods.period = settings.periods.period == "hour" ? "day" : "hour";
      settings.periods.rule = PeriodRule::make(settings.periods.period, nullptr).value();
      break;
    case Other::missing:
      written_.by_name.erase(name);
      return;
    case Other::progression:
      write_other_progression(settings, stage_.random.below(3));
      break;
    case Other::key:
      settings.binding.key += settings.periods.rule != nullptr ? "other-{period}" : "-other";
      break;
    case Other::store:
      settings.store = settings.store == "plain" ? "ledger" : "plain";
      break;
    case Other::mode:
      settings.mode = SequenceMode::insert;
      break;
  }
  written_.by_name[name] = std::move(settings);
}

void SiteSettings::change_live(const std::string& name, SequenceSettings& settings) {
  SeededRandom& random = stage_.random;
  const Profile& profile = stage_.profile;
  settings.lease_max = random.between(5, profile.lease_max);
  settings.lease_min = random.between(1, settings.lease_max);
  settings.lease_duration_ms = random.between(100, 20'000);
  // Each says how long at least.
  if (settings.periods.rule != nullptr)
    settings.periods.retain_ms = profile.retain_s * 1'000 * random.between(1, 3);
  settings.max_available = random.between(settings.lease_max, profile.max_available());
  settings.max_unsynced = random.between(1, std::min(profile.max_unsynced, settings.max_available));
  settings.max_waiters = random.between(1, kMaxWaiters);
  settings.wait_timeout_ms = random.between(100, kWaitTimeoutMs);
  if (random.below(2) == 0) settings.reuse = random.below(2) == 0 ? profile.reuse : Reuse::never;
  if (name == "gamma")
    settings.max_value = random.between(profile.bounded_end / 4, profile.bounded_end);
  settings.blocks = profile.blocks && random.below(6) > 0;
  settings.access.deny = {};
  if (random.below(12) == 0) settings.access.deny = {std::to_string(kUser), {false, {kUser}, {}}};
}

// All of it may be changed while a daemon runs.
void SiteSettings::change(const LogMirror& log) {
  SeededRandom& random = stage_.random;
  const Profile& profile = stage_.profile;
  daemon_.clients = static_cast<std::size_t>(random.between(4, 8));
  daemon_.remember_ms = random.between(5'000, 30'000);
  daemon_.blocks = random.between(4, 12);
  daemon_.polls_every = random.between(1, 3);
  for (auto& [name, settings] : home_.by_name) {
    change_live(name, settings);
    Choice& choice = choices_[name];
    if (profile.forms_change && choice.other != Other::unit && random.below(3) == 0) {
      const auto forms = TextForms::of(settings.periods.rule != nullptr).size();
      choice.rival = false;
      choice.form = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(forms)));
      choice.rival = random.below(3) == 0 && knows_form(log, name);
    }
    write(name);
  }
}

void SiteSettings::change_one(const LogMirror& log) {
  SeededRandom& random = stage_.random;
  // A log may grow.
  if (random.below(4) == 0) daemon_.log_sizes = std::min<std::uint64_t>(2 * daemon_.log_sizes, 4);
  const auto at = random.below(static_cast<std::int64_t>(home_.by_name.size()));
  auto& [name, settings] = *std::next(home_.by_name.begin(), at);
  Choice& choice = choices_[name];
  const IdProgression* const progression = settings.progression.compiled.get();
  if (progression != nullptr && !progression->form().cycle && random.below(2) == 0) {
    // Another end is none of another sequence.
    IdProgression::Form form = progression->form();
    const std::int64_t least = std::max(form.start, form.min + 1);
    if (form.increment > 0) form.max = random.between(least, least + 20 * stage_.profile.lease_max);
    settings.progression.max = form.max;
    settings.progression.compiled = std::make_shared<IdProgression>(form);
    stage_.count(Kind::progression_ends_elsewhere);
  } else if (choice.other != Other::none) {
    choice.other = Other::none;
  } else if (knows(log, name)) {
    // A period that is new here would begin with what is written.
    const bool periods = settings.periods.rule != nullptr;
    const bool knows_text = periods && knows_form(log, name);
    const auto first = static_cast<int>(knows_text ? Other::unit : Other::missing);
    const auto last = static_cast<int>(periods ? Other::mode : Other::store);
    choice.other = static_cast<Other>(random.between(first, last));
    if (choice.other == Other::unit) choice.rival = false;
    stage_.happened(Kind::configured_otherwise, log.site(), static_cast<int>(choice.other), at);
  }
  write(name);
}

void SiteSettings::keep_legal(const LogMirror& log) {
  for (auto& [name, choice] : choices_) {
    const bool unknown = choice.other == Other::unit ? !knows_form(log, name) : !knows(log, name);
    const bool other = choice.other != Other::none && unknown;
    const bool rival = choice.rival && !knows_form(log, name);
    if (other) choice.other = Other::none;
    if (rival) choice.rival = false;
    if (other || rival) write(name);
  }
}

void SiteSettings::put_right() {
  const std::uint64_t log_sizes = daemon_.log_sizes;
  daemon_ = {};
  daemon_.log_sizes = log_sizes;
  for (auto& [name, choice] : choices_) {
    choice.other = Other::none;
    choice.rival = false;
    write(name);
  }
}

ConfiguredSequences reloaded(const ConfiguredSequences& running, ConfiguredSequences written,
                             const std::function<bool(const std::string& name)>& in_use) {
  for (auto& [name, next] : written.by_name) {
    const auto found = running.by_name.find(name);
    if (found == running.by_name.end() || !in_use(name)) continue;
    const SequenceSettings& now = found->second;
    next.store = now.store;
    next.mode = now.mode;
    next.binding = now.binding;
    if (!(next.progression == now.progression)) next.max_value = now.max_value;
    next.progression = now.progression;
    if (next.periods.period != now.periods.period) {
      next.periods.period = now.periods.period;
      next.periods.rule = now.periods.rule;
      next.text = now.text;
    }
    if (next.progression.compiled != nullptr && next.progression.compiled->lowest() < 1)
      next.text.compiled = nullptr;
  }
  return written;
}

std::string meaning_of(const SequenceSettings& settings) {
  std::string out = settings.store + " " + binding_text(settings.binding, settings.progression);
  out += " " + std::to_string(settings.last_ordinal()) + " " + settings.periods.period;
  out += settings.mode == SequenceMode::insert ? " inserts " : " leases ";
  return out + (settings.text.compiled == nullptr ? std::string() : form_of(settings));
}

}  // namespace seqd::sim

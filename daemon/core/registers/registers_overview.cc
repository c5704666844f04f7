// The part of registers.h that is about all of them.
#include <algorithm>
#include <utility>

#include "daemon/core/registers/registers.h"
#include "daemon/core/words/sequence_name.h"

namespace seqd {

// --- what is known of one

// Others stop with SEQ_REGRESSED when they are configured again, and can be raised then.
std::vector<std::string> Registers::known(std::string_view store) const {
  const StoreScope* const scope = table_.scopes().find(store);
  if (scope == nullptr) return {};
  std::vector<std::string> names;
  for (const RegisterReached* known : table_.registers().of(scope->id())) {
    const SequenceSettings* const settings = settings_.find(known->name);
    if (settings == nullptr || settings->mode != SequenceMode::registers ||
        settings->store != store)
      continue;
    const PeriodRule* const rule = settings->periods.rule.get();
    for (const PeriodReached& one : known->periods) {
      const bool is_its =
          rule == nullptr ? one.period.empty() : rule->named(one.period).has_value();
      if (is_its)
        names.push_back(rule == nullptr ? known->name : period_sequence(known->name, one.period));
    }
  }
  return names;
}

bool Registers::has(std::string_view base) const {
  const SequenceSettings* const settings = settings_.find(std::string(base));
  return settings != nullptr && settings->mode == SequenceMode::registers;
}

std::optional<PeriodUnit> Registers::period_unit(std::string_view base) const {
  const SequenceSettings* const settings = settings_.find(std::string(base));
  if (settings == nullptr || settings->periods.rule == nullptr) return std::nullopt;
  return settings->periods.rule->unit();
}

std::optional<std::int64_t> Registers::highest(std::string_view name) const {
  const std::string base(base_of(name));
  const SequenceSettings* const settings = settings_.find(base);
  if (settings == nullptr || settings->mode != SequenceMode::registers) return std::nullopt;
  const PeriodRule* const rule = settings->periods.rule.get();
  std::string period(period_of(name));
  if (rule != nullptr && period.empty()) period = rule->at(context_.clock.wall_ms() / 1'000).name;
  const StoreScope* const scope = table_.scopes().find(settings->store);
  const std::int64_t known =
      scope == nullptr ? 0 : table_.registers().reached({scope->id(), base}, period);
  return known > 0 ? std::optional(known) : std::nullopt;
}

std::int64_t Registers::stopped() const {
  return std::ranges::count_if(held_,
                               [this](const auto& one) { return !stopped(one.second).ok(); });
}

// --- all of them

void Registers::cancel(SessionId session, const Refusal& why) {
  for (RequestQueue* const queue : accounts_.waited_for_by(session)) {
    const Status refused = why ? why(queue->name()) : Status();
    if (!why || !refused.ok()) queue->cancel(session, refused);
  }
  if (why) return;
  std::erase_if(listings_, [session](const std::unique_ptr<Listing>& one) {
    return one->asker.session == session && one->timer.running();
  });
}

void Registers::begin_stop(const Status& why) {
  ending_ = why;
  std::vector<Paged> waiting;
  std::erase_if(listings_, [&waiting](const std::unique_ptr<Listing>& one) {
    if (!one->timer.running()) return false;
    waiting.push_back(std::move(one->done));
    return true;
  });
  for (const Paged& done : waiting) done(why);
  for (const auto& [name, held] : held_) {
    held.queue->begin_stop(why);
    if (held.raising) held.raising->begin_stop(why);
  }
}

bool Registers::settled() const {
  return listings_.empty() && std::ranges::none_of(held_, [](const auto& one) {
           return one.second.queue->in_flight() ||
                  (one.second.raising && one.second.raising->in_flight());
         });
}

Registers::View Registers::view_of(const std::string& name, const Held& held) const {
  View view{name, held.store, held.queue.get(), 0, stopped(held)};
  if (const StoreScope* const scope = table_.scopes().find(held.store); scope != nullptr)
    view.highest = table_.registers().reached({scope->id(), held.base}, held.period_name());
  return view;
}

std::optional<Registers::View> Registers::view(std::string_view name) const {
  const auto found = held_.find(name);
  if (found == held_.end()) return std::nullopt;
  return view_of(found->first, found->second);
}

std::vector<Registers::View> Registers::views(std::string_view after, std::size_t most) const {
  std::vector<View> out;
  for (auto one = held_.upper_bound(after); one != held_.end() && out.size() < most; ++one)
    out.push_back(view_of(one->first, one->second));
  return out;
}

}  // namespace seqd

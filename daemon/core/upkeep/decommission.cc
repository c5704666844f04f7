#include "daemon/core/upkeep/decommission.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"

namespace seqd {
namespace {

// Of one call, so that it ends within a few of the store's time-outs.
constexpr std::size_t kSlotsAtOnce = 100;

Status refusal() {
  return {ErrorCode::STOPPING,
          "this daemon is being decommissioned and issues no IDs; use another daemon"};
}

}  // namespace

Decommission::Decommission(const CoreContext& context, SequenceTable& table, Place& place)
    : context_(context), table_(table), place_(place) {}

void Decommission::resume(std::vector<RetiredInstance> marked) {
  ASSERT(!no_way_back_ && !done_);
  marked_ = std::move(marked);
  no_way_back_ = true;
  table_.refuse_requests(refusal());
  context_.events.raise(
      {EventKind::retiring,
       "this daemon was being decommissioned when it ended, and refuses requests; repeat `seqctl "
       "decommission --yes`",
       {}});
}

Status Decommission::begin(bool only_look, std::int64_t timeout_ms, Done done) {
  ASSERT(done != nullptr);
  if (done_) return {ErrorCode::BUSY, "a decommission is under way already"};
  done_ = std::move(done);
  only_look_ = only_look;
  timeout_ms_ = timeout_ms;
  report_ = DecommissionReport{};
  list_stores();
  list_sequences();
  ask_stores(true);
  return {};
}

// --- what there is

void Decommission::list_stores() {
  std::set<ScopeId> used;
  for (const Sequence* sequence : table_.sequences().all()) used.insert(sequence->scope().id());
  for (const StoreScope* const scope : table_.scopes().all()) {
    // What moved away from a store that is not configured any more has left nothing to give up.
    const bool is_over =
        scope->store() == nullptr && (!scope->has_history() || !used.contains(scope->id()));
    if (!is_over) add_store(scope->store_name(), scope->instance());
  }
  for (const RetiredInstance& one : marked_) add_store(one.store, one.instance);
}

void Decommission::add_store(const std::string& name, const Token& instance) {
  for (const DecommissionReport::OfStore& listed : report_.stores) {
    if (listed.name == name && listed.instance == instance) return;
  }
  DecommissionReport::OfStore part{name, instance, {}, false, {}};
  const StoreScope* scope = table_.scopes().find(name);
  if (scope == nullptr || scope->store() == nullptr) {
    part.error = {ErrorCode::CONFIG,
                  "store \"" + name + "\" is not running; configure it and restart"};
  } else if (!scope->verified()) {
    part.error = {
        ErrorCode::UNAVAILABLE,
        "store \"" + name + "\" has not confirmed yet that this instance is ours: " +
            (scope->last_error().ok() ? "it has not answered" : scope->last_error().to_string())};
  }
  report_.stores.push_back(std::move(part));
}

void Decommission::list_sequences() {
  report_.sequences.assign(table_.sequences().size(), {});
  std::size_t at = 0;
  for (const Sequence* sequence : table_.sequences().all()) {
    DecommissionReport::OfSequence& part = report_.sequences[at++];
    part.name = sequence->name();
    part.totals = sequence->totals();
    part.available = sequence->available();
    part.out = sequence->out();
    part.returning = sequence->slot().returning();
    part.leasing = sequence->slot().leasing();
    part.drained.reuse = sequence->settings().reuse;
  }
}

// --- the stores

void Decommission::ask_stores(bool only_look) {
  calls_.clear();
  next_ = 0;
  for (std::size_t part = 0; part < report_.stores.size(); ++part) {
    const DecommissionReport::OfStore& of = report_.stores[part];
    if (!of.error.ok()) continue;
    const StoreScope* const scope = table_.scopes().find(of.name);
    ASSERT(scope != nullptr && scope->store() != nullptr);
    Call call{part, scope->store(), {}};
    call.request.instance = of.instance;
    call.request.only_look = only_look;
    call.request.entry = false;
    for (const Sequence* sequence : table_.sequences().all()) {
      if (sequence->scope().store_name() != of.name) continue;
      call.request.slots.push_back({sequence->definition().binding(), sequence->name()});
      if (call.request.slots.size() < kSlotsAtOnce) continue;
      calls_.push_back(call);
      call.request.slots.clear();
    }
    call.request.entry = true;
    calls_.push_back(std::move(call));
  }
  ask_next();
}

void Decommission::ask_next() {
  while (next_ < calls_.size() && !report_.stores[calls_[next_].part].error.ok()) ++next_;
  if (next_ == calls_.size()) {
    if (no_way_back_ && !calls_.empty() && !calls_.front().request.only_look) return forgotten();
    return looked();
  }
  calls_[next_].store->forget(
      calls_[next_].request,
      alive_.guard([this](const Result<InstanceRecords>& found) { answered(found); }));
}

void Decommission::answered(const Result<InstanceRecords>& found) {
  ASSERT(next_ < calls_.size() && calls_[next_].part < report_.stores.size());
  const Call& call = calls_[next_];
  DecommissionReport::OfStore& part = report_.stores[call.part];
  if (found.ok()) {
    part.records.records += found->records;
    part.records.entry = part.records.entry || found->entry;
    part.forgotten = call.request.entry && !call.request.only_look;
    ++next_;
  } else {
    part.error = found.status();
  }
  ask_next();
}

void Decommission::looked() {
  using End = DecommissionReport::End;
  if (only_look_) return finish(End::preview, {});
  if (Status error = first_error(); !error.ok())
    return finish(no_way_back_ ? End::unfinished : End::refused, error);
  drain();
}

// --- the sequences

void Decommission::drain() {
  table_.refuse_requests(refusal());
  list_sequences();  // some may be new since the stores were queried; from here on there are none
  ASSERT(draining_ == 0);
  draining_ = 1;
  std::size_t next = 0;
  for (DecommissionReport::OfSequence& part : report_.sequences) {
    const std::size_t at = next++;
    const SequenceId id = table_.find(part.name);
    ASSERT(id != 0);
    if (holds_nothing(table_.at(id))) continue;
    ++draining_;
    Status refused =
        table_.orders().drain(id, timeout_ms_, alive_.guard([this, at](const DrainReport& report) {
          report_.sequences[at].drained = report;
          drained_one();
        }));
    if (refused.ok()) continue;
    part.error = std::move(refused);
    --draining_;
  }
  drained_one();
}

void Decommission::drained_one() {
  ASSERT(draining_ > 0);
  if (--draining_ == 0) drained();
}

void Decommission::drained() {
  using End = DecommissionReport::End;
  const auto given = std::move(report_.sequences);
  list_sequences();
  ASSERT(report_.sequences.size() == given.size());
  bool empty = true;
  for (std::size_t at = 0; at < given.size(); ++at) {
    DecommissionReport::OfSequence& part = report_.sequences[at];
    ASSERT(part.name == given[at].name);
    part.drained = given[at].drained;
    part.error = given[at].error;
    empty = empty && holds_nothing(table_.at(table_.find(part.name)));
  }
  if (!empty) {
    const Status error = first_error();
    return finish(no_way_back_ ? End::unfinished : End::refused,
                  error.ok() ? Status(ErrorCode::UNAVAILABLE,
                                      "not everything available could be returned in time")
                             : error);
  }
  if (!no_way_back_) {
    ASSERT(marked_.empty());
    for (const DecommissionReport::OfStore& part : report_.stores)
      marked_.push_back({part.name, part.instance});
    if (Status status = place_.mark(marked_); !status.ok()) {
      marked_.clear();
      return finish(End::refused, status);
    }
    no_way_back_ = true;
  }
  for (DecommissionReport::OfStore& part : report_.stores) part.records = {};
  ask_stores(false);
}

// --- the end

void Decommission::forgotten() {
  using End = DecommissionReport::End;
  const Status error = first_error();
  finish(error.ok() ? End::done : End::unfinished, error);
}

Status Decommission::first_error() const {
  for (const DecommissionReport::OfStore& part : report_.stores) {
    if (!part.error.ok()) return part.error;
  }
  for (const DecommissionReport::OfSequence& part : report_.sequences) {
    if (!part.error.ok()) return part.error;
  }
  return {};
}

void Decommission::finish(DecommissionReport::End end, const Status& why) {
  ASSERT(done_ != nullptr && draining_ == 0);
  if (end == DecommissionReport::End::refused) table_.refuse_requests({});
  report_.end = end;
  report_.why = why;
  const DecommissionReport report = std::exchange(report_, {});
  std::exchange(done_, nullptr)(report);
}

}  // namespace seqd

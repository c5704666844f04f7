#include "daemon/store/dynamo/register/dynamo_register_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/core/words/token.h"
#include "daemon/store/dynamo/register/dynamo_register_changes.h"

namespace seqd {
namespace {

using Kind = RegisterOutcome::Kind;
using Change = RegisterChange::Kind;

bool is_refusal_for_good(const std::string& code) {
  return code == "ValidationError" || code == "ItemCollectionSizeLimitExceeded";
}

}  // namespace

// What one transaction may have: each item once, and kMostInTransaction in all.
struct DynamoRegisterWrite::Batch {
  std::set<std::int64_t> numbers;
  std::set<std::string> keys;
  std::size_t parts = 0;
  std::int64_t last = 0;  // of the adds; 0: there is none yet
  bool frees = false;
  bool refills = false;

  // False: it is of the next one.
  bool take(const RegisterChange& change, std::int64_t first_id) {
    if (change.kind == Change::close) return parts == 0 && take_alone();
    const bool moves_key = change.kind != Change::confirm && !change.key.empty();
    const bool is_add = change.kind == Change::add;
    const bool frees_it = change.kind == Change::cancel && change.free;
    const bool refills_it = change.kind == Change::refill;
    std::size_t more = moves_key ? 2 : 1;
    if (is_add && last == 0) more += change.number == first_id ? 2 : 1;
    if ((frees_it || refills_it) && !frees && !refills) ++more;
    const bool fits = parts + more <= kMostInTransaction &&
                      (!is_add || last == 0 || change.number - 1 == last) &&
                      // One update of the index either adds numbers or removes some.
                      !(frees_it && refills) && !(refills_it && frees) &&
                      !numbers.contains(change.number) && !(moves_key && keys.contains(change.key));
    if (!fits) return false;
    parts += more;
    numbers.insert(change.number);
    if (moves_key) keys.insert(change.key);
    if (is_add) last = change.number;
    frees = frees || frees_it;
    refills = refills || refills_it;
    return true;
  }
  bool take_alone() {
    parts = kMostInTransaction;
    return true;
  }
};

std::size_t DynamoRegisterWrite::end_of_batch() const {
  Batch batch;
  std::size_t end = done_;
  while (end < limit_ && batch.take(write_.changes[end], write_.place.binding.first_id)) ++end;
  return end;
}

void DynamoRegisterWrite::stop_before(std::size_t change, Kind kind, Status error) {
  ASSERT(change < limit_);
  limit_ = change;
  outcome_.kind = kind;
  outcome_.error = std::move(error);
}

DynamoRegisterWrite::Step DynamoRegisterWrite::next() {
  for (std::size_t at = done_; at < limit_; ++at) {
    const RegisterChange& change = write_.changes[at];
    if (change.number < 1) stop_before(at, Kind::changed, {});
    if (change.kind == Change::close || at == limit_) continue;
    Status status = items_.check_key(change.key);
    if (change.key.empty() && change.kind == Change::refill)
      status = {ErrorCode::STORE_REFUSED, where_ + ": a refill needs a key"};
    if (!status.ok()) stop_before(at, Kind::refused, std::move(status));
  }
  end_ = end_of_batch();
  cancelled_.clear();
  std::set<std::string> wanted;
  for (std::size_t at = done_; at < end_; ++at) {
    const RegisterChange& change = write_.changes[at];
    if (change.kind != Change::cancel) continue;
    wanted.insert(items_.number_key(change.number));
    if (change.free) wanted.insert(items_.free_key());
  }
  if (!wanted.empty()) return items_.keys({wanted.begin(), wanted.end()});
  return send();
}

DynamoRegisterWrite::Step DynamoRegisterWrite::after_items(Result<DynamoItems> items) {
  if (!items.ok()) {
    outcome_ = {Kind::failed, done_, items.status()};
    return outcome_;
  }
  if (verifies_) {
    verify_number(*items);
    return next();
  }
  for (std::size_t at = done_; at < std::min(end_, limit_); ++at)
    if (write_.changes[at].kind == Change::cancel) judge_cancel(at, *items);
  end_ = std::min(end_, limit_);
  return send();
}

void DynamoRegisterWrite::judge_cancel(std::size_t at, const DynamoItems& items) {
  const RegisterChange& change = write_.changes[at];
  const auto item = items.find(items_.number_key(change.number));
  if (item == items.end()) return stop_before(at, Kind::changed, {});
  auto record = items_.read_number(item->second, {write_.place.period, change.number}, false);
  if (!record.ok()) return stop_before(at, Kind::refused, record.status());
  if (record->state != NumberState::assigned || record->key != change.key)
    return stop_before(at, Kind::changed, {});
  cancelled_.emplace(at, std::move(*record));
  const auto index = items.find(items_.free_key());
  if (!change.free || index == items.end()) return;
  const auto free = items_.read_free(index->second);
  if (!free.ok()) return stop_before(at, Kind::refused, free.status());
  if (free->size() < kMostDynamoFree) return;
  stop_before(at, Kind::refused,
              {ErrorCode::STORE_REFUSED,
               fmt::format("{}: {} numbers of \"{}\" are free already, and no more are kept",
                           where_, free->size(), dynamo_register_name(write_.place))});
}

// --- one transaction

DynamoRegisterWrite::Step DynamoRegisterWrite::send() {
  if (done_ == end_) {
    outcome_.done = done_;
    return outcome_;
  }
  parts_.clear();
  for (std::size_t at = done_; at < end_; ++at) add_parts(at);
  ASSERT(parts_.size() <= kMostInTransaction);
  DynamoTransaction transaction;
  transaction.token = to_hex(random_token(random_));
  for (const Part& part : parts_) transaction.updates.push_back(part.update);
  return transaction;
}

void DynamoRegisterWrite::add(std::size_t change, DynamoUpdate update, bool is_mark) {
  parts_.push_back({std::move(update), change, is_mark});
}

// With the first change that needs it, what all of its kind share.
void DynamoRegisterWrite::add_parts(std::size_t at) {
  const RegisterChange& change = write_.changes[at];
  const auto is_like = [&](const RegisterChange& other) {
    return other.kind == change.kind && other.free == change.free;
  };
  const auto begin = write_.changes.begin() + static_cast<std::ptrdiff_t>(done_);
  const auto here = write_.changes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = write_.changes.begin() + static_cast<std::ptrdiff_t>(end_);
  std::set<std::int64_t> alike;
  if (std::none_of(begin, here, is_like)) {
    for (auto other = here; other != end; ++other)
      if (is_like(*other)) alike.insert(other->number);
  }
  const bool is_first = change.number == write_.place.binding.first_id;
  switch (change.kind) {
    case Change::add:
      if (!alike.empty() && is_first) add(at, mark_name(items_), true);
      if (!alike.empty()) add(at, raise_highest(items_, change.number, *alike.rbegin()));
      add(at, add_number(items_, change));
      if (!change.key.empty()) add(at, give_key(items_, change));
      return;
    case Change::refill:
      if (!alike.empty()) add(at, change_free(items_, {}, alike));
      add(at, refill_number(items_, change));
      add(at, give_key(items_, change));
      return;
    case Change::confirm:
      add(at, confirm_number(items_, change));
      return;
    case Change::cancel:
      if (!alike.empty() && change.free) add(at, change_free(items_, alike, {}));
      add(at, cancel_number(items_, change, cancelled_.at(at)));
      add(at, take_key(items_, change));
      return;
    case Change::close:
      if (is_first) add(at, mark_name(items_), true);
      add(at, close_period(items_, change));
      add(at, close_free(items_, change));
      return;
  }
  ASSERT(false);
}

DynamoRegisterWrite::Step DynamoRegisterWrite::after_transaction(DynamoAnswer answer) {
  switch (answer.kind) {
    case DynamoAnswer::Kind::done:
      done_ = end_;
      conflicts_ = 0;
      return next();
    case DynamoAnswer::Kind::mismatch:
      if (is_conflict(answer) && ++conflicts_ <= kMostConflicts) return send();
      judge_reasons(answer);
      if (!verifies_) return next();
      return items_.keys({items_.period_key(), items_.number_key(write_.changes[limit_].number)});
    case DynamoAnswer::Kind::refused:
      return RegisterOutcome{Kind::failed, done_, std::move(answer.error)};
    case DynamoAnswer::Kind::unknown:
      break;
  }
  return RegisterOutcome{Kind::unknown, done_, std::move(answer.error)};
}

// The first change of which a part did not fit decides; of its parts, the name and then what will
// not fit again. Nothing was applied, whatever the reasons are.
void DynamoRegisterWrite::judge_reasons(const DynamoAnswer& answer) {
  constexpr auto kBad = [](const DynamoReason& reason) { return reason.code != "None"; };
  const auto first = std::find_if(answer.reasons.begin(), answer.reasons.end(), kBad);
  if (answer.reasons.size() != parts_.size() || first == answer.reasons.end())
    return stop_before(done_, Kind::failed, answer.error);
  const Part& failed = parts_[static_cast<std::size_t>(first - answer.reasons.begin())];
  const std::size_t change = failed.change;
  verifies_ = write_.changes[change].kind == Change::add &&
              first->code == "ConditionalCheckFailed" &&
              failed.update.key().key == items_.number_key(write_.changes[change].number);
  Kind kind = Kind::failed;
  Status error = answer.error;
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    const DynamoReason& reason = answer.reasons[at];
    if (parts_[at].change != change || !kBad(reason)) continue;
    const std::string item = parts_[at].update.key().key;
    if (reason.code == "ConditionalCheckFailed" && parts_[at].is_mark) {
      return stop_before(
          change, Kind::failed,
          {ErrorCode::WRONG_MODE,
           fmt::format("{}, item {{{}: \"{}\"}}: it is a counter of this store, from which IDs "
                       "were leased: give the register another name (sequence.key)",
                       where_, write_.place.binding.key_field, item)});
    }
    if (reason.code == "ConditionalCheckFailed") {
      kind = Kind::changed;
    } else if (is_refusal_for_good(reason.code) && kind == Kind::failed) {
      kind = Kind::refused;
      error = {
          ErrorCode::STORE_REFUSED,
          fmt::format("{}, item {{{}: \"{}\"}}: DynamoDB reports {}: {}; an item has 400 KB "
                      "at most",
                      where_, write_.place.binding.key_field, item, reason.code, reason.message)};
    }
  }
  stop_before(change, kind, kind == Kind::changed ? Status() : error);
}

// The number is there already, and yet the period was as it was read: as it never is, unless one of
// the items was changed by hand, or restored from a backup without the other. Nothing can be added
// before it is corrected.
void DynamoRegisterWrite::verify_number(const DynamoItems& items) {
  verifies_ = false;
  const std::int64_t number = write_.changes[limit_].number;
  const auto item = items.find(items_.period_key());
  const auto period =
      items_.read_period(item == items.end() ? std::nullopt : std::optional(item->second));
  if (!period.ok() || period->highest >= number || !items.contains(items_.number_key(number)))
    return;
  outcome_ = {Kind::refused, 0,
              items_.by_hand(items_.number_key(number),
                             fmt::format("it is there, and the highest number of its period is {}",
                                         period->highest))};
}

}  // namespace seqd

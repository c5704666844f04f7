#include "daemon/store/dynamo/register/dynamo_register_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seqd {

using Reading = Result<RegisterReading>;
using Page = Result<std::vector<NumberRecord>>;

// --- a reading

DynamoRegisterRead::Step DynamoRegisterRead::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Reading(item.status());
  return phase_ == Phase::period ? after_period(*item) : after_free(*item);
}

DynamoRegisterRead::Step DynamoRegisterRead::after_period(const std::optional<DynamoItem>& item) {
  auto period = items_.read_period(item);
  if (!period.ok()) return Reading(period.status());
  period_ = *period;
  reading_.highest = period_.highest;
  reading_.closed = period_.closed;
  reading_.of_keys.resize(query_.keys.size());
  reading_.of_numbers.resize(query_.numbers.size());
  if (query_.free == 0 || period_.closed || period_.highest == 0) return ask_keys();
  phase_ = Phase::free;
  return items_.key(items_.free_key());
}

// What is free and cannot be read is passed over: new numbers are as good. A list shows it.
DynamoRegisterRead::Step DynamoRegisterRead::after_free(const std::optional<DynamoItem>& item) {
  auto free = items_.read_free(item);
  if (free.ok()) free_ = std::move(*free);
  if (query_.newest_free) std::ranges::reverse(free_);
  if (free_.size() > query_.free) free_.resize(query_.free);
  if (free_.empty()) return ask_keys();
  phase_ = Phase::free_numbers;
  std::vector<std::string> wanted;
  for (const std::int64_t number : free_) wanted.push_back(items_.number_key(number));
  return items_.keys(std::move(wanted));
}

DynamoRegisterRead::Step DynamoRegisterRead::after_items(Result<DynamoItems> items) {
  if (!items.ok()) return Reading(items.status());
  switch (phase_) {
    case Phase::free_numbers:
      take_free(*items);
      return ask_keys();
    case Phase::keys:
      take_keys(*items);
      return ask_numbers();
    case Phase::numbers:
      take_numbers(*items);
      return ask_again();
    case Phase::keys_again:
      take_again(*items);
      return end();
    case Phase::period:
    case Phase::free:
      break;
  }
  ASSERT(false);
}

void DynamoRegisterRead::take_free(const DynamoItems& items) {
  for (const std::int64_t number : free_) {
    const auto item = items.find(items_.number_key(number));
    if (item == items.end()) continue;
    auto record = items_.read_number(item->second, {query_.place.period, number}, false);
    if (record.ok() && record->state == NumberState::free)
      reading_.free.push_back(std::move(*record));
  }
}

// A key that no item can have has no number; an add of it is refused.
DynamoRegisterRead::Step DynamoRegisterRead::ask_keys() {
  std::set<std::string> wanted;
  for (const std::string& key : query_.keys)
    if (items_.check_key(key).ok()) wanted.insert(items_.key_key(key));
  if (wanted.empty()) return ask_numbers();
  phase_ = Phase::keys;
  return items_.keys({wanted.begin(), wanted.end()});
}

void DynamoRegisterRead::take_keys(const DynamoItems& items) {
  for (const std::string& key : std::set<std::string>(query_.keys.begin(), query_.keys.end())) {
    auto owned = items_.read_owned(items, key);
    if (!owned.ok()) {
      refuse(key, 0, owned.status());
    } else if (*owned) {
      owned_.emplace(key, std::move(**owned));
    }
  }
}

DynamoRegisterRead::Step DynamoRegisterRead::ask_numbers() {
  std::set<std::string> wanted;
  for (const auto& [key, owned] : owned_)
    wanted.insert(items_.number_key(owned.period, owned.number));
  for (const std::int64_t number : query_.numbers) wanted.insert(items_.number_key(number));
  if (wanted.empty()) return end();
  phase_ = Phase::numbers;
  return items_.keys({wanted.begin(), wanted.end()});
}

void DynamoRegisterRead::take_numbers(const DynamoItems& items) {
  for (const auto& [key, owned] : owned_) take_number_of(key, items);
  std::set<std::int64_t> unreadable;
  for (std::size_t at = 0; at < query_.numbers.size(); ++at) {
    const std::int64_t number = query_.numbers[at];
    const auto item = items.find(items_.number_key(number));
    Result<NumberRecord> record = items_.by_hand(items_.number_key(number), "it is missing");
    if (item != items.end()) {
      const std::string& period = query_.place.period;
      record = items_.read_number(item->second, {period, number}, is_closed(period));
    } else if (number < period_.first || number > period_.highest) {
      continue;
    }
    if (record.ok()) {
      reading_.of_numbers[at] = std::move(*record);
    } else if (unreadable.insert(number).second) {
      refuse("", number, record.status());
    }
  }
}

void DynamoRegisterRead::take_number_of(const std::string& key, const DynamoItems& items) {
  const DynamoOwned& owned = owned_.at(key);
  const auto item = items.find(items_.number_key(owned.period, owned.number));
  if (item == items.end()) {
    doubtful_.insert(key);
    return;
  }
  auto record = items_.read_number(item->second, owned, is_closed(owned.period));
  if (!record.ok()) {
    refuse(key, owned.number, record.status());
  } else if (record->key != key) {
    doubtful_.insert(key);
  } else {
    of_keys_.emplace(key, std::move(*record));
  }
}

// A number that does not have the key: either it was cancelled between the two reads, and then the
// key has another number now or none, as key and number name one assignment for ever; or one of the
// items was changed by hand.
DynamoRegisterRead::Step DynamoRegisterRead::ask_again() {
  if (doubtful_.empty()) return end();
  std::vector<std::string> wanted;
  for (const std::string& key : doubtful_) wanted.push_back(items_.key_key(key));
  phase_ = Phase::keys_again;
  return items_.keys(std::move(wanted));
}

void DynamoRegisterRead::take_again(const DynamoItems& items) {
  for (const std::string& key : doubtful_) {
    const DynamoOwned& before = owned_.at(key);
    const auto now = items_.read_owned(items, key);
    if (!now.ok()) {
      refuse(key, before.number, now.status());
    } else if (*now && (*now)->number == before.number && (*now)->period == before.period) {
      refuse(
          key, before.number,
          items_.by_hand(items_.key_key(key),
                         fmt::format("its number {} does not belong to the key", before.number)));
    }
  }
}

DynamoRegisterRead::Step DynamoRegisterRead::end() {
  for (std::size_t at = 0; at < query_.keys.size(); ++at) {
    const auto record = of_keys_.find(query_.keys[at]);
    if (record != of_keys_.end()) reading_.of_keys[at] = record->second;
  }
  return Reading(std::move(reading_));
}

// --- a page

DynamoRegisterPage::Step DynamoRegisterPage::after_read(Result<std::optional<DynamoItem>> item) {
  if (!item.ok()) return Page(item.status());
  const bool only_free = query_.state == NumberState::free;
  if (!has_period_) {
    has_period_ = true;
    auto period = items_.read_period(*item);
    if (!period.ok()) return Page(period.status());
    period_ = *period;
    if (query_.after >= period_.highest) return Page(std::move(records_));
    next_ = std::max(query_.after, period_.first - 1) + 1;
    if (!only_free) return next();
    if (period_.closed) return Page(std::move(records_));
    return items_.key(items_.free_key());
  }
  auto free = items_.read_free(*item);
  if (!free.ok()) return Page(free.status());
  for (const std::int64_t number : *free)
    if (number > query_.after) free_.push_back(number);
  return next();
}

DynamoRegisterPage::Step DynamoRegisterPage::next() {
  asked_.clear();
  const std::size_t left = query_.limit - records_.size();
  // Where a state is asked for, most numbers may be of another one.
  const bool is_any = !query_.state || query_.state == NumberState::free;
  const std::size_t most = is_any ? std::min(left, kMostInTransaction) : kMostInTransaction;
  if (left > 0 && query_.state == NumberState::free) {
    const std::size_t count = std::min(most, free_.size());
    const auto end = free_.begin() + static_cast<std::ptrdiff_t>(count);
    asked_.assign(free_.begin(), end);
    free_.erase(free_.begin(), end);
  } else if (left > 0) {
    for (; next_ <= period_.highest && asked_.size() < most; ++next_) asked_.push_back(next_);
  }
  if (asked_.empty()) return Page(std::move(records_));
  std::vector<std::string> wanted;
  for (const std::int64_t number : asked_) wanted.push_back(items_.number_key(number));
  return items_.keys(std::move(wanted));
}

DynamoRegisterPage::Step DynamoRegisterPage::after_items(Result<DynamoItems> items) {
  if (!items.ok()) return Page(items.status());
  for (const std::int64_t number : asked_) {
    const auto item = items->find(items_.number_key(number));
    if (item == items->end())
      return Page(items_.by_hand(items_.number_key(number), "it is missing"));
    auto record = items_.read_number(item->second, {query_.place.period, number}, period_.closed);
    if (!record.ok()) return Page(record.status());
    if (query_.state && record->state != *query_.state) continue;
    if (records_.size() < query_.limit) records_.push_back(std::move(*record));
  }
  return next();
}

}  // namespace seqd

// MemoryRegister: registers in memory, by the rules of register_store.h. A call takes effect when
// it is called and is answered when the test delivers it; the next writes can be lost. One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/registers/register_store.h"

namespace seqd {

class MemoryRegister final : public RegisterStore {
 public:
  enum class Fault { none, refused, lost, lost_and_applied, late };

  void read_register(const RegisterQuery& query,
                     std::function<void(Result<RegisterReading>)> done) override {
    ++reads;
    asked = query.place;
    if (is_away) {
      later([done] { done(Status(ErrorCode::UNAVAILABLE, "the store is away")); });
      return;
    }
    RegisterReading reading;
    reading.highest = highest(query.place);
    reading.closed = closed.contains(query.place.period);
    for (const std::string& key : query.keys) {
      if (unreadable.contains(key)) reading.unreadable.push_back({1, key, bad});
      reading.of_keys.push_back(unreadable.contains(key) ? std::nullopt : of_key(key));
    }
    for (const std::int64_t number : query.numbers) {
      auto found = of_number({query.place.period, number});
      if (found && unreadable.contains(found->key)) {
        reading.unreadable.push_back({number, "", bad});
        found = std::nullopt;
      }
      reading.of_numbers.push_back(std::move(found));
    }
    for (const auto& [at, record] : records) {
      if (at.first == query.place.period && record.state == NumberState::free &&
          (query.newest_free || reading.free.size() < query.free))
        reading.free.push_back(record);
    }
    if (query.newest_free) std::reverse(reading.free.begin(), reading.free.end());
    if (reading.free.size() > query.free) reading.free.resize(query.free);
    later([done, reading] { done(reading); });
  }

  void write_register(const RegisterWrite& write,
                      std::function<void(RegisterOutcome)> done) override {
    writes.push_back(write);
    Fault fault = Fault::none;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    RegisterOutcome outcome{RegisterOutcome::Kind::all, 0, {}};
    if (fault == Fault::none || fault == Fault::lost_and_applied) outcome = apply_all(write);
    if (fault == Fault::late) late_.push_back(write);
    const Status away(ErrorCode::UNAVAILABLE, "the store is away");
    if (fault == Fault::refused) {
      outcome = {RegisterOutcome::Kind::failed, 0, away};
    } else if (fault != Fault::none) {
      outcome = {RegisterOutcome::Kind::unknown, 0, away};
    }
    later([done, outcome] { done(outcome); });
  }

  void list_register(const RegisterPageQuery& query,
                     std::function<void(Result<std::vector<NumberRecord>>)> done) override {
    std::vector<NumberRecord> all;
    for (const auto& [at, record] : records) {
      const bool wanted = !query.state || *query.state == record.state;
      if (at.first == query.place.period && at.second > query.after && wanted &&
          all.size() < query.limit)
        all.push_back(record);
    }
    later([done, all] { done(all); });
  }

  // The process is gone.
  void drop_pending() { answers_.clear(); }

  // Gives the oldest answer that waits. False when there is none.
  bool deliver() {
    if (answers_.empty()) return false;
    const auto answer = std::move(answers_.front());
    answers_.pop_front();
    answer();
    return true;
  }

  // The oldest write that was given up and arrives now. False: there is none.
  bool apply_late() {
    if (late_.empty()) return false;
    apply_all(late_.front());
    late_.pop_front();
    return true;
  }

  using Place = std::pair<std::string, std::int64_t>;  // period and number

  std::optional<NumberRecord> of_number(const Place& place) const {
    const auto found = records.find(place);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<NumberRecord> of_key(const std::string& key) const {
    for (const auto& [at, record] : records) {
      if (record.key == key) return record;
    }
    return std::nullopt;
  }

  bool is_away = false;
  std::deque<Fault> faults;  // of the next writes
  std::map<Place, NumberRecord> records;
  std::set<std::string> closed;      // periods
  std::set<std::string> unreadable;  // keys whose records cannot be read
  std::set<std::string> refused;     // keys of which no change is possible
  const Status bad{ErrorCode::STORE_REFUSED, "this one alone"};
  std::vector<RegisterWrite> writes;
  int reads = 0;
  RegisterPlace asked;  // last

 private:
  RegisterOutcome apply_all(const RegisterWrite& write) {
    RegisterOutcome outcome{RegisterOutcome::Kind::all, 0, {}};
    for (; outcome.done < write.changes.size(); ++outcome.done) {
      if (refused.contains(write.changes[outcome.done].key)) {
        outcome = {RegisterOutcome::Kind::refused, outcome.done, bad};
        break;
      }
      if (apply(write.place, write.changes[outcome.done])) continue;
      outcome.kind = RegisterOutcome::Kind::changed;
      break;
    }
    return outcome;
  }

  std::int64_t highest(const RegisterPlace& place) const {
    std::int64_t found = 0;
    for (const auto& [at, record] : records) {
      if (at.first == place.period) found = at.second;
    }
    return found;
  }

  bool apply(const RegisterPlace& place, const RegisterChange& change) {
    const Place at{place.period, change.number};
    const auto found = records.find(at);
    switch (change.kind) {
      case RegisterChange::Kind::add: {
        const std::int64_t last = highest(place);
        const bool is_void = change.key.empty();
        if (closed.contains(place.period) || (!is_void && of_key(change.key)) ||
            change.number != (last == 0 ? place.binding.first_id : last + 1))
          return false;
        NumberRecord& record = records[at];
        record.period = place.period;
        record.number = change.number;
        record.key = change.key;
        record.text = change.text;
        record.assigned = change.stamp;
        if (is_void) {
          record.state = NumberState::voided;
          record.former.push_back({"", change.stamp, change.stamp, change.reason});
        }
        return true;
      }
      case RegisterChange::Kind::refill:
        if (found == records.end() || found->second.state != NumberState::free ||
            found->second.former.size() != change.former || of_key(change.key))
          return false;
        for (const FormerKey& former : found->second.former) {
          if (former.key == change.key) return false;
        }
        found->second.state = NumberState::assigned;
        found->second.key = change.key;
        found->second.assigned = change.stamp;
        return true;
      case RegisterChange::Kind::confirm:
        if (!is_open(found, change)) return false;
        found->second.state = NumberState::confirmed;
        found->second.confirmed = change.stamp;
        return true;
      case RegisterChange::Kind::cancel: {
        if (!is_open(found, change)) return false;
        NumberRecord& record = found->second;
        record.former.push_back({record.key, record.assigned, change.stamp, change.reason});
        record.key.clear();
        record.state = change.free ? NumberState::free : NumberState::voided;
        return true;
      }
      case RegisterChange::Kind::close:
        closed.insert(place.period);
        return true;
    }
    return false;
  }
  bool is_open(std::map<Place, NumberRecord>::const_iterator found,
               const RegisterChange& change) const {
    return found != records.end() && found->second.key == change.key &&
           found->second.state == NumberState::assigned;
  }
  void later(std::function<void()> answer) { answers_.push_back(std::move(answer)); }

  std::deque<std::function<void()>> answers_;
  std::deque<RegisterWrite> late_;
};

}  // namespace seqd

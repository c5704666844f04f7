// The items of a register, in the table of the counters; their keys begin with "seqd-register:",
// which no counter's may (dynamo_names.h). SIZE is that of NAME in bytes, so no two of them have
// one key, whatever is in NAME, PERIOD and KEY:
//
//   seqd-register:period:SIZE:NAME:PERIOD       seqd_first, seqd_highest: numbers;  seqd_closed
//   seqd-register:free:SIZE:NAME:PERIOD         seqd_free: a set of the numbers that are free, so
//                                               that these are found without a scan;  seqd_closed
//   seqd-register:key:SIZE:NAME:KEY             seqd_period, seqd_number: what the key has now;
//                                               nothing more once that was cancelled
//   seqd-register:number:SIZE:NAME:PERIOD:N     one for each number, and never removed:
//     seqd_state      "assigned", "confirmed", "void", "free"; what is free in a period that is
//                     closed is void, without being written
//     seqd_key        whose it is now; no attribute once it was cancelled
//     seqd_text       as it was first written
//     seqd_assigned   {at, by}; so are seqd_confirmed, and seqd_closed of the others
//     seqd_formers    how many keys it was cancelled for; seqd_former:0 and so on: {key, reason,
//                     assigned_at, assigned_by, cancelled_at, cancelled_by}, the oldest first
//     seqd_had        the set of these keys
//
// Times are ms since 1970. People may change items by hand: what cannot be read is an error that
// names item and attribute. Values and functions without I/O; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/registers/register_store.h"
#include "daemon/store/dynamo/wire/dynamo_batch.h"

namespace seqd {

// How many free numbers one item keeps: 120 KB of its 400 at most.
inline constexpr std::size_t kMostDynamoFree = 10'000;

// What a period's own item says.
struct DynamoPeriod {
  std::int64_t first = 0;
  std::int64_t highest = 0;  // 0: there is none
  bool closed = false;
};

// The number that a key has.
struct DynamoOwned {
  std::string period;
  std::int64_t number = 0;
};

class DynamoRegisterItems {
 public:
  // `where`: host and table, for errors.
  DynamoRegisterItems(const RegisterPlace& place, std::string where);

  DynamoKey period() const { return key(period_key()); }
  std::string period_key() const { return head_ + "period" + name_ + place_.period; }
  std::string free_key() const { return head_ + "free" + name_ + place_.period; }
  std::string key_key(const std::string& key) const { return head_ + "key" + name_ + key; }
  std::string number_key(const std::string& period, std::int64_t number) const;
  std::string number_key(std::int64_t number) const { return number_key(place_.period, number); }
  DynamoKey key(const std::string& item) const;
  DynamoKeys keys(std::vector<std::string> items) const;
  const RegisterPlace& place() const { return place_; }

  // STORE_REFUSED: no item can have such a key.
  Status check_key(const std::string& key) const;

  // An item that is not there says that there is none.
  Result<DynamoPeriod> read_period(const std::optional<DynamoItem>& item) const;
  Result<std::vector<std::int64_t>> read_free(const std::optional<DynamoItem>& item) const;
  Result<std::optional<DynamoOwned>> read_owned(const DynamoItems& items,
                                                const std::string& key) const;
  // `closed`: its period is.
  Result<NumberRecord> read_number(const DynamoItem& item, const DynamoOwned& which,
                                   bool closed) const;
  // `which` is not as seqd wrote it.
  Status by_hand(const std::string& item, const std::string& what) const;

 private:
  const RegisterPlace place_;
  const std::string where_;
  const std::string head_;
  const std::string name_;  // with its size
};

// The name that a counter of the register would have.
std::string dynamo_register_name(const RegisterPlace& place);

}  // namespace seqd

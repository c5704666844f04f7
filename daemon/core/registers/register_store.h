// RegisterStore: the interface of a store that keeps registers: a record of each number of a
// period, from the first to the highest without a hole, and the key that it belongs to. A host
// keeps nothing of it. What is to be done is decided where it is read (RegisterQuery); a write
// changes only what is still as it was read, else it is read again. So one mechanism serves every
// store, and a key gets one number from any number of hosts.
//
// Invariants, with the shortcuts that break them in tests/model/register.pml: a number has one
// record for ever, a key at most one in all periods of a register; no record is behind a hole;
// nothing is added to a period that was closed; both are compared with the heartbeat of the host,
// so an older copy of the database answers nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/core/registers/register_record.h"
#include "daemon/core/words/counter_binding.h"
#include "daemon/core/words/token.h"

namespace seqd {

// One period of a register: the binding says where it is, its key names the register.
struct RegisterPlace {
  CounterBinding binding;
  std::string period;  // empty: it has none
  // The host that asks, and the newest heartbeat that is known of it; 0: it is not compared.
  Token instance{};
  std::int64_t heartbeat = 0;
  bool takes_older = false;  // also an older copy: what it has lost is made void
};

struct RegisterQuery {
  RegisterPlace place;
  std::vector<std::string> keys;      // whose records are wanted, of any period
  std::vector<std::int64_t> numbers;  // the same, of this period
  std::size_t free = 0;               // how many free numbers are wanted, at most
  bool newest_free = false;           // the highest of them; else the lowest
};

// The number of a key or a number that was asked for, whose record cannot be read.
struct UnreadableNumber {
  std::int64_t number = 0;
  std::string key;  // empty: it was asked for by its number
  Status why;
};

// Of one moment; or `highest` is not newer than the records.
struct RegisterReading {
  std::int64_t highest = 0;  // 0: there is none
  bool closed = false;       // the period
  std::vector<std::optional<NumberRecord>> of_keys;
  std::vector<std::optional<NumberRecord>> of_numbers;
  std::vector<NumberRecord> free;            // in that order
  std::vector<UnreadableNumber> unreadable;  // they are empty among the others
};

// add      a record for the key, behind the highest. Applied while `number` is the next one, the
//          key has none, and the period is not closed. Without a key the number is void, for
//          `reason`.
// refill   a free number for the key. While it is free, was cancelled for as many keys as `former`
//          says, not for this one, and the key has no number.
// confirm, cancel
//          while the number is assigned to the key, and not confirmed. `free`: another key may get
//          it; not in a period that is closed.
// close    the period: nothing is added to it any more, and what is free is void. While `number` is
//          the next one.
struct RegisterChange {
  enum class Kind : std::uint8_t { add, refill, confirm, cancel, close };
  Kind kind = Kind::add;
  std::int64_t number = 0;
  std::string key;
  std::string text;        // add
  std::size_t former = 0;  // refill
  bool free = false;       // cancel
  std::string reason;      // cancel, add without a key, and close for what is free
  Stamp stamp;
};

// In their order: a write ends at the first that is not applied.
struct RegisterWrite {
  RegisterPlace place;
  std::vector<RegisterChange> changes;
};

// The first `done` changes were applied, and what happened to the next one: all: there is none.
// changed: the register is not as it was read.   failed: it was not applied, `error` says why.
// refused: the same, and it would be so again; others may be applied.
// unknown: it and those behind it may have been applied, in part; a later query shows it.
struct RegisterOutcome {
  enum class Kind : std::uint8_t { all, changed, failed, refused, unknown };
  Kind kind = Kind::failed;
  std::size_t done = 0;
  Status error;
};

// A page of a register, in the order of the numbers.
struct RegisterPageQuery {
  RegisterPlace place;
  std::int64_t after = 0;            // only numbers above this one
  std::optional<NumberState> state;  // only those
  std::size_t limit = 0;
};

// Asynchronous, as LeaseStore: every verb answers exactly once on the loop thread, never before the
// call returned.
class RegisterStore {
 public:
  virtual ~RegisterStore() = default;
  virtual void read_register(const RegisterQuery& query,
                             std::function<void(Result<RegisterReading>)> done) = 0;
  virtual void write_register(const RegisterWrite& write,
                              std::function<void(RegisterOutcome)> done) = 0;
  virtual void list_register(const RegisterPageQuery& query,
                             std::function<void(Result<std::vector<NumberRecord>>)> done) = 0;
};

}  // namespace seqd

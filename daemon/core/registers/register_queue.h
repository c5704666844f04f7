// RegisterQueue: the requests for numbers of one period of a register. A round reads the highest
// number and what the requests name, decides, and writes; what is not as it was read is read again
// in the next round. So every request may be sent any number of times, from any host: an assign is
// known by its key, a confirm and a cancel by number and key, and an answer that was lost is found
// by asking again. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/core/insert/request_queue.h"
#include "daemon/core/registers/register_store.h"

namespace seqd {

// done: `record` is the number's, as it is now; also if the request was carried out before. Of a
// close and a raise it has the highest number alone.
// no_key: the number does not belong to that key, and never did.   cancelled: it did (confirm).
// confirmed: it is not cancelled any more.   closed: the period gets no more numbers.
// exhausted: it has reached its maximum.   denied: it is not that user's.
// elsewhere: `record` is of another period, whose queue takes the request with the number.
struct RegisterAnswer {
  enum class Kind : std::uint8_t {
    done,
    no_key,
    cancelled,
    confirmed,
    closed,
    exhausted,
    denied,
    elsewhere
  };
  Kind kind = Kind::done;
  NumberRecord record;
};

class RegisterQueue final : public RequestQueue {
 public:
  using Done = std::function<void(Result<RegisterAnswer>)>;
  // Whether another key may get a number that was cancelled; null: none may.
  using MayRefill = std::function<bool(const NumberRecord& record, std::int64_t wall_ms)>;

  // raise: the numbers up to `number` that the store has not are void.
  struct Wanted {
    enum class Kind : std::uint8_t { assign, confirm, cancel, close, raise };
    Kind kind = Kind::assign;
    std::string key;          // of the first three; not empty
    std::int64_t number = 0;  // confirm, cancel: 0: the one that the key has
    std::string reason;       // cancel, raise
    std::string by;           // who asks, as the record keeps it
    // Whether it may be confirmed or cancelled by that user; null: it may.
    std::function<bool(const NumberRecord& record)> allowed{};
    SessionId session = 0;
    UserId user = 0;
    std::int64_t timeout_ms = -1;  // < 0: the sequence's own
    Done done;
  };

  // What it needs to know of its period.
  struct Period {
    // Where it is, or why the store may not be asked at present.
    std::function<Result<RegisterPlace>()> place;
    std::function<std::string(std::int64_t number, std::int64_t wall_ms)> text;
    MayRefill may_refill;
    bool refills_newest = false;  // the highest free number first; else the lowest
    // Why nothing can be requested of it; null: nothing stops it.
    std::function<Status()> stopped{};
    // The store has so many numbers; an error: it is an older copy. Null: that is not compared.
    std::function<Status(std::int64_t highest)> reached{};
  };

  // All outlive this.
  RegisterQueue(const CoreContext& context, const SettingsSource& settings,
                InsertAccounts& accounts, std::string name, RegisterStore& store, Period period);

  // An error: it is not queued, and `done` is not called.
  Status add(Wanted wanted);

 private:
  struct Pending final : Request {
    void fail(const Status& why) override { wanted.done(why); }
    Wanted wanted;
    // What the round has decided. Neither: it waits for the next one.
    bool is_answered = false;
    bool is_written = false;
    RegisterAnswer answer;   // at once, or after the write
    std::size_t change = 0;  // of the write
  };
  // What one round decides on.
  struct Decision;

  static Pending& as_pending(Request& request) { return static_cast<Pending&>(request); }

  Result<const SequenceSettings*> settings() const override;
  void send(std::int64_t patience_ms) override;
  Status too_late(const Request& request) const override;
  void read();
  void decide(const RegisterReading& reading);
  void decide_assign(Decision& decision, Pending& pending) const;
  void decide_end(Decision& decision, Pending& pending) const;
  void decide_raise(Decision& decision, Pending& pending) const;
  void write(Decision& decision);
  void end(const RegisterOutcome& outcome);
  void failed(const Status& error);

  const SettingsSource& settings_;
  RegisterStore& store_;
  const Period period_;
  RegisterPlace place_;                  // of the round
  std::vector<RegisterChange> changes_;  // the same
  OneShot read_timer_{context_.timers};
};

}  // namespace seqd

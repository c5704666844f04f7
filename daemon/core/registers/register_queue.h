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

// done: `record` is the number's, as it is now; also if the request was carried out before.
// no_key: the number does not belong to that key, and never did.   cancelled: it did (confirm).
// confirmed: it is not cancelled any more.   closed: the period gets no more numbers.
// exhausted: it has reached its maximum.
struct RegisterAnswer {
  enum class Kind : std::uint8_t { done, no_key, cancelled, confirmed, closed, exhausted };
  Kind kind = Kind::done;
  NumberRecord record;
};

class RegisterQueue final : public RequestQueue {
 public:
  using Done = std::function<void(Result<RegisterAnswer>)>;

  struct Wanted {
    enum class Kind : std::uint8_t { assign, confirm, cancel };
    Kind kind = Kind::assign;
    std::string key;          // not empty
    std::int64_t number = 0;  // confirm, cancel
    std::string reason;       // cancel
    std::string by;           // who asks, as the record keeps it
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
    // Whether another key may get a number that was cancelled; null: none may.
    std::function<bool(const NumberRecord& record, std::int64_t wall_ms)> may_refill;
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
  void end(const RegisterOutcome& outcome);
  void failed(const Status& error);

  const SettingsSource& settings_;
  RegisterStore& store_;
  const Period period_;
  RegisterPlace place_;  // of the round
  OneShot read_timer_{context_.timers};
};

}  // namespace seqd

// Registers: all registers of this host. A register has records of its numbers in a store and
// nothing here (register_store.h); this class knows which period a name means, whether the store
// may be asked, and what it has shown so far. Owned by the daemon; loop thread.
//
// Invariant: a store is asked only while it is proven to be the database of its scope and no older
// copy (StoreScope::verified()), and a period that has less than it had stops with SEQ_REGRESSED.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/registers/register_queue.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {

class Registers {
 public:
  using Stores = std::map<std::string, RegisterStore*>;  // those of the configuration that keep any
  using Wanted = RegisterQueue::Wanted;
  using Paged = std::function<void(Result<std::vector<NumberRecord>>)>;

  struct Page {
    std::int64_t after = 0;            // only numbers above this one
    std::optional<NumberState> state;  // only those
    std::size_t limit = 0;
  };
  struct Asker {
    SessionId session = 0;
    UserId user = 0;
  };
  // A period that was used since the start.
  struct View {
    std::string name;
    std::string store;
    const RegisterQueue* queue = nullptr;
    std::int64_t highest = 0;  // as far as it is known
    Status stopped;
  };

  // All outlive this.
  Registers(const CoreContext& context, const SettingsSource& settings, SequenceTable& table,
            Stores stores, std::string host);

  // Its name, as the records have it.
  const std::string& host() const { return host_; }

  // `name`: of a register, and of its period or the present one. Each answers once, later; an
  // error: never. NO_SEQUENCE, WRONG_MODE, BAD_REQUEST, CONFIG, BUSY, SEQ_REGRESSED, UNAVAILABLE.
  Status ask(std::string_view name, Wanted wanted);
  Status list(std::string_view name, const Page& page, const Asker& asker, Paged done);
  // Whether the configuration has a register of that name.
  bool has(std::string_view base) const;
  // Of that period, or the present one, as far as it is known here.
  std::optional<std::int64_t> highest(std::string_view name) const;
  // Of its periods; nothing: it has none, or is not configured.
  std::optional<PeriodUnit> period_unit(std::string_view base) const;
  // Periods that are stopped.
  std::int64_t stopped() const;
  // What the store has lost of the period becomes void, also while it is stopped. The answer has
  // the highest number.
  Status raise(std::string_view name, Wanted wanted);
  // The configured periods of the store of which a number is known, as names.
  std::vector<std::string> known(std::string_view store) const;

  // Drops what the session waits for. With `why`: only where that is an error, which is the answer.
  void cancel(SessionId session, const Refusal& why = {});
  void begin_stop(const Status& why);
  bool settled() const;
  std::size_t size() const { return held_.size(); }
  std::int64_t waiting() const { return accounts_.waiting(); }
  std::optional<View> view(std::string_view name) const;  // nothing: not used yet
  // In the order of their names: at most so many of those behind the name `after`.
  std::vector<View> views(std::string_view after, std::size_t most) const;

 private:
  struct Held {
    std::string base;
    std::optional<Period> period;
    std::string store;
    Status regressed;
    std::unique_ptr<RegisterQueue> queue;
    std::unique_ptr<RegisterQueue> raising;  // null: it was never raised
    std::string period_name() const { return period ? period->name : ""; }
  };
  // A page that somebody waits for.
  struct Listing {
    explicit Listing(Timers& timers) : timer(timers) {}
    std::string name;
    Page page;
    Asker asker;
    Paged done;
    std::int64_t deadline_ms = 0;
    OneShot timer;
  };
  using Listings = std::list<std::unique_ptr<Listing>>;

  void look(Listings::iterator at);
  Result<Held*> open(std::string_view name);
  Result<Held*> make(const std::string& name, const std::string& base,
                     const SequenceSettings& settings, std::optional<Period> period);
  void drop_idle();
  RegisterQueue::MayRefill refill_of(const Held& held) const;
  std::unique_ptr<RegisterQueue> make_queue(const std::string& name, Held& held, bool raises);
  // The settings of a register that is configured as it was opened.
  Result<const SequenceSettings*> settings_of(const Held& held) const;
  StoreScope& scope_of(const Held& held);
  KnownRegisters::Key key_of(const Held& held);
  Status stopped(const Held& held) const;
  View view_of(const std::string& name, const Held& held) const;
  Status reached(Held& held, std::int64_t highest);
  // `raises`: it may be an older copy.
  Result<RegisterPlace> place_of(const Held& held, bool raises);
  std::string text_of(const Held& held, std::int64_t number, std::int64_t wall_ms) const;

  const CoreContext context_;
  const SettingsSource& settings_;
  SequenceTable& table_;
  const Stores stores_;
  const std::string host_;
  InsertAccounts accounts_;
  std::set<KnownRegisters::Key> counted_;  // by SequenceBudgets, beside the known ones
  std::map<std::string, Held, std::less<>> held_;
  Listings listings_;
  OneShot sweep_timer_{context_.timers};
  Status ending_;
  Lifetime alive_;
};

}  // namespace seqd

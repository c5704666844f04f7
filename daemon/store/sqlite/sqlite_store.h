// SqliteStore: the embedded central store, one SQLite file. Counter and lease token change in one
// transaction, so an unknown outcome can always be resolved: the token is there with its range, or
// it is not and is voided on the spot. One connection, so one call at a time (concurrency 1); calls
// may come from different threads.
//
// Invariant: a range is granted only after its transaction was committed with synchronous=FULL.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/blocking_store.h"
#include "daemon/store/sqlite/sqlite_commit_mark.h"
#include "daemon/store/sqlite/sqlite_connection.h"
#include "daemon/store/sqlite/sqlite_options.h"
#include "daemon/store/sqlite/sqlite_records.h"
#include "daemon/store/sqlite/sqlite_statements.h"

namespace seqd {

class SqliteStore final : public BlockingStore {
 public:
  // Leases and returns remembered for each instance, key and sequence. Only one of a sequence is
  // under way at a time, so a token that may still be looked up is among the newest.
  static constexpr std::int64_t kTokensKept = 8;

  // A batch takes a few milliseconds, during which other daemons that use the file wait.
  static constexpr std::size_t kLeasesTogether = 256;

  static Result<std::unique_ptr<SqliteStore>> open(const SqliteStoreOptions& options);
  // Never UNAVAILABLE: a file that cannot be opened now (a full disk, a lock) is opened by the
  // first request that can, and those before it are UNAVAILABLE.
  static Result<std::unique_ptr<SqliteStore>> open_when_available(
      const SqliteStoreOptions& options);

  LeaseMode lease_mode() const override;
  StorePlace place() const override;
  Result<Token> identify(const Token& candidate) override;
  LeaseOutcome lease(const LeaseRequest& request) override;
  // In one transaction, with one disk flush. If the commit fails, all leases fail.
  std::vector<LeaseOutcome> lease_all(std::span<const LeaseRequest> requests) override;
  std::size_t leases_together() const override { return kLeasesTogether; }
  Resolution resolve(const LeaseRequest& request) override;
  std::vector<Resolution> resolve_all(std::span<const LeaseRequest> requests) override;
  Result<ClaimOutcome> claim(const ClaimRequest& request) override;
  Result<BeatOutcome> beat(const BeatRequest& request) override;
  Result<CounterReading> read(const ReadRequest& request) override;
  Result<std::int64_t> advance(const AdvanceRequest& request) override;
  // A few of its records stay, with its sums, and so do all records of other instances until very
  // many have leased since: see sqlite_forget.cc.
  void abandoned(const Token& instance) override;
  ReturnOutcome return_range(const ReturnRequest& request) override;
  std::vector<ReturnOutcome> return_all(std::span<const ReturnRequest> requests) override;
  Result<InstanceRecords> forget(const ForgetRequest& request) override;
  Result<CounterPage> find_counters(const CounterQuery& query) override;
  std::vector<RemovalOutcome> remove_counters(const CounterRemoval& removal) override;
  Result<RegisterReading> read_register(const RegisterQuery& query) override;
  RegisterOutcome write_register(const RegisterWrite& write) override;
  Result<std::vector<NumberRecord>> list_register(const RegisterPageQuery& query) override;
  int concurrency() const override { return 1; }

 private:
  using CounterState = SqliteCounterState;
  using TokenRecord = SqliteTokenRecord;

  explicit SqliteStore(const SqliteStoreOptions& options)
      : path_(options.path),
        busy_timeout_ms_(options.busy_timeout_ms),
        commit_mark_(options.boot_memory, options.busy_timeout_ms) {}
  // Unless it is open.
  Status open_file();
  Status prepare();
  Status read_identity();
  Status run(const SqliteStatement& statement);
  // Runs a statement whose ?1 is an instance.
  Status run_for(const char* sql, const Token& instance);
  // A transaction on the file that the path leads to.
  Status begin();
  // The same to change the file. SEQ_REGRESSED, and nothing is begun: it is an older copy.
  Status begin_change(OlderCopy older = OlderCopy::refused);
  // The same for a register: nothing is begun where the file is older than the host knows.
  Status begin_register(const RegisterPlace& place);
  void remember_older_copy();
  Status count_commit();
  std::string where(const CounterBinding& binding) const;
  // In one transaction (`together`); if one request rolled it back, each in its own.
  template <typename Outcome, typename Request>
  std::vector<Outcome> batch(std::span<const Request> requests,
                             std::vector<Outcome> (SqliteStore::*together)(std::span<const Request>,
                                                                           bool*));
  // In one transaction. Sets `ended` if an error rolled it back before the commit.
  std::vector<LeaseOutcome> lease_together(std::span<const LeaseRequest> requests, bool* ended);
  std::vector<Resolution> resolve_together(std::span<const LeaseRequest> requests, bool* ended);
  std::vector<ReturnOutcome> return_together(std::span<const ReturnRequest> requests, bool* ended);
  // Inside a transaction, which the caller commits or rolls back.
  // Sets `taken` if the lease becomes valid with the commit.
  LeaseOutcome lease_in_transaction(const LeaseRequest& request, bool* taken);
  // Sets `written` if the file was changed.
  Resolution resolve_in_transaction(const LeaseRequest& request, bool* written);
  Result<LeasedSpan> take(const LeaseRequest& request, bool* parked);
  Result<std::int64_t> last_issued(const LeaseRequest& request, Meaning* meaning);
  // None where there is no such counter.
  Result<std::optional<CounterState>> read_counter(const CounterBinding& binding);
  Result<CounterReading> read_in_transaction(const ReadRequest& request);
  Result<std::int64_t> advance_in_transaction(const AdvanceRequest& request);
  Result<std::int64_t> read_floor(const CounterBinding& binding);
  Status create_counter(const CounterBinding& binding, std::int64_t last_issued, Meaning meaning);
  // What is parked of this counter first; none: nothing is.
  Result<std::optional<LeasedSpan>> take_parked(const LeaseRequest& request,
                                                std::int64_t last_issued);
  ReturnOutcome return_in_transaction(const ReturnRequest& request, bool* written);
  // `why` is set when it is not applied and never shall be.
  Status apply_return(const ReturnRequest& request, Status* why);
  Status park(const ReturnRequest& request);
  Status add_to_totals(const LeaseRequest& request, LeasedSpan span);
  Result<TokenRecord> find_token(const LeaseRequest& request);
  Status insert_token(const LeaseRequest& request, const char* state, LeasedSpan span);
  Result<ClaimOutcome> claim_in_transaction(const ClaimRequest& request);
  Result<BeatOutcome> beat_in_transaction(const BeatRequest& request);
  // OK, unless the file was put back from an older copy.
  Status check_age(const Token& instance, std::int64_t heartbeat, bool* restored);
  Result<InstanceRecords> forget_in_transaction(const ForgetRequest& request);
  Result<std::vector<FoundCounter>> find_in_transaction(const CounterQuery& query);
  Result<RemovalOutcome> remove_in_transaction(const CounterBinding& binding,
                                               const FoundCounter& counter);
  // What `body` gives, a Result, of a transaction that is committed where `keeps` says so of it.
  template <typename Body, typename Keeps>
  auto change(OlderCopy older, Body body, Keeps keeps) -> decltype(body());
  // Ends a transaction that changes nothing, if it is still open.
  void roll_back();
  // Commits. `maybe_applied` is set when it failed in a way that leaves the outcome open.
  Status commit(bool* maybe_applied);

  const std::string path_;
  const int busy_timeout_ms_;
  std::atomic<bool> identified_ = false;          // identity_ is constant from then on
  std::mutex mutex_;                              // guards everything below
  std::unique_ptr<SqliteConnection> connection_;  // null: not opened yet
  SqliteStatements statements_;
  SqliteCommitMark commit_mark_;
  Token identity_{};
};

}  // namespace seqd

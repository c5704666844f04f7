// History: the record of issues, leases and gaps, kept in the state directory for operators
// (`seqctl explain`, `gaps`, `audit`). It gathers on the loop, writes about once a second on a
// thread of its own, and answers questions there, between two batches. An audit goes through all
// rows, so it has a connection and a thread of its own, and sees the file as it was between two
// batches. If the file cannot be used, serving continues: the log is authoritative, and the history
// is its index. Owned by the Daemon; loop thread.
//
// Switched off, it keeps nothing: the start removes the file and discards what was gathered until
// then, and no event or question reaches it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core/history/history_catch_up.h"
#include "daemon/core/history/history_log.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/main/history_questions.h"
#include "daemon/rpc/history/history_asker.h"
#include "daemon/state/start.h"
#include "daemon/store/history/history_file.h"
#include "daemon/store/history/history_reader.h"
#include "daemon/uv/thread_worker.h"

namespace seqd {

class History final : public HistoryAsker {
 public:
  History(EventLoop& loop, Clock& clock, EventSink& events, const std::string& state_dir,
          const HistoryLimits& limits, bool kept = true);

  // The log to append to, so that the history sees every entry. `log` outlives the appending.
  RemainderLog& follow(RemainderLog& log);
  // The receivers of issues and sessions, and the one that answers questions. Null: it is switched
  // off.
  HistoryRecorder* recorder() { return kept_ ? &recorder_ : nullptr; }
  HistoryAsker* asker() { return kept_ ? this : nullptr; }
  void set_limits(const HistoryLimits& limits) {
    limits_ = limits;
    prune_at_ms_ = 0;
  }

  // Receives the log while it is recovered, then the result of the start. Events that the history
  // lacks are written, gaps before anything is served.
  LogReader& log_reader() { return catch_up_; }
  void started(const Started& state);
  // Raises an event for every gap of the start. After started().
  void report_gaps(const Started& state);
  // The instances before this start; a scope whose remainder was forfeited has another one now.
  const std::map<ScopeId, Token>& former_instances() const { return catch_up_.instances(); }
  // Whose sums a batch carries from now on. It outlives this.
  void attach(const SequenceTable& table) { table_ = &table; }

  // A turn is in the log. `position` is called for the log's position when a batch is taken.
  template <typename Position>
  void turn_over(Position position) {
    recorder_.turn_over();
    if (!writing_ && wants_batch() && !pausing()) take_batch(position());
  }
  // A batch is due, if there is anything to write; now and then, what is too old is dropped.
  void tick();
  // The daemon ends: what is left is written without a pause; an audit is given up.
  void finish();
  // Everything is written, or cannot be.
  bool settled() const { return !writing_ && (recorder_.empty() || !failure_.ok()); }
  bool quiet() const { return worker_.quiet() && auditor_.quiet(); }

  // HistoryAsker
  Status ask_gaps(UserId user, const GapsQuestion& asked,
                  std::function<void(Result<GapsAnswer>)> done) override;
  Status ask_id(UserId user, const std::string& name, std::int64_t id, std::function<void()> now,
                std::function<void(Result<IdAnswer>)> done) override;
  Status ask_sums(UserId user, const std::string& name, std::function<void()> now,
                  std::function<void(Result<SumsAnswer>)> done) override;

 private:
  using Question = HistoryQuestions::Question;
  // What the worker uses.
  struct Place {
    Place(const std::string& path, const std::string& host)
        : database(path),
          file(database, host),
          reader(database),
          audited(path, HistoryDatabase::Access::read),
          audit_reader(audited) {}
    HistoryDatabase database;
    HistoryFile file;
    HistoryReader reader;
    // Of the audit that is under way: opened by the worker between two batches, then the auditor's.
    HistoryDatabase audited;
    HistoryReader audit_reader;
  };
  struct Job;

  template <typename Answer>
  static Question question(UserId user, std::function<void()> now,
                           std::function<Result<Answer>(HistoryReader&)> read,
                           std::function<void(Result<Answer>)> done);
  bool wants_batch() const {
    if (is_asked() || due_) return true;
    // A file that cannot be written is tried again with the ticks only.
    return (recorder_.urgent() || recorder_.filling()) && failure_.ok();
  }
  // A large batch was written just now, and no question waits for another one. By the loop's time:
  // this is called in every turn.
  bool pausing() const { return !is_asked() && !ending_ && loop_.now_ms() < not_before_ms_; }
  bool is_asked() const { return questions_.questions_wait() || may_audit(); }
  bool may_audit() const { return !auditing_ && !log_due_ && questions_.audits_wait(); }
  void take_batch(LogPosition position);
  void complete(HistorySequence& sequence) const;
  void submit(HistoryBatch batch);
  void written(Job& job);
  void begin_audit(Job& job, const Status& failed);
  void audited(const Question& question, const Status& failed);
  // No audit is under way that would keep dropped rows.
  void prune_now() { prune_ = due_ = true; }
  void warn(const std::vector<std::string>& warnings);
  void note(const Status& status);

  EventLoop& loop_;
  Clock& clock_;
  EventSink& events_;
  HistoryLimits limits_;
  const bool kept_;
  const std::shared_ptr<Place> place_;
  HistoryRecorder recorder_;
  std::unique_ptr<HistoryLog> log_;
  HistoryCatchUp catch_up_;
  const SequenceTable* table_ = nullptr;
  HistoryQuestions questions_;  // of this turn, or waiting for the worker
  bool auditing_ = false;
  bool opening_ = false;          // the worker opens the file for an audit
  std::int64_t prune_at_ms_ = 0;  // of the next pruning; by the loop's time
  bool prune_ = false;            // that time has come
  // Rows were dropped during an audit, which keeps them in the write-ahead log: they leave it
  // before the next audit.
  bool log_due_ = false;
  bool due_ = false;
  bool ending_ = false;
  bool writing_ = false;
  std::int64_t not_before_ms_ = 0;  // a batch that no question waits for; by the loop's time
  Status failure_;                  // of the last batch
  ThreadWorker auditor_;
  ThreadWorker worker_;  // last: it ends first
};

}  // namespace seqd

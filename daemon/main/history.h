// History: who was issued what and which IDs never will be, kept in the state directory for people
// (`seqctl explain`, `gaps`, `audit`). It gathers on the loop, writes about once a second on a
// thread of its own, and answers questions there, between two batches. Whatever befalls its file,
// serving goes on: the log is the truth, and this is its index. Owned by the Daemon; loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core/history_catch_up.h"
#include "daemon/core/sequence_table.h"
#include "daemon/rpc/history_asker.h"
#include "daemon/state/start.h"
#include "daemon/store/history_file.h"
#include "daemon/store/history_reader.h"
#include "daemon/uv/thread_worker.h"

namespace seqd {

class History final : public HistoryAsker {
 public:
  History(uv_loop_t* loop, Clock& clock, EventSink& events, const std::string& state_dir,
          const HistoryLimits& limits);

  HistoryRecorder& recorder() { return recorder_; }
  void set_limits(const HistoryLimits& limits) { limits_ = limits; }

  // Shown the log while it is recovered; then told what the start made of it. What the history had
  // not heard is written; gaps before anything is served.
  LogReader& log_reader() { return catch_up_; }
  void started(const Started& state);
  // Raises an event for every gap of the start. After started().
  void report_gaps(const Started& state);
  // The instances before this start; a scope whose remainder was forfeited has another one now.
  const std::map<ScopeId, Token>& former_instances() const { return catch_up_.instances(); }
  // Whose sums a batch carries from now on. It outlives this.
  void attach(const SequenceTable& table) { table_ = &table; }

  // A turn is in the log. `position` is asked for the log's position when a batch is taken.
  template <typename Position>
  void turn_over(Position position) {
    recorder_.turn_over();
    if (!writing_ && wants_batch() && !pausing()) take_batch(position());
  }
  // A batch is due, if there is anything to write.
  void tick() { due_ = true; }
  // The daemon ends: what is left is written without a pause.
  void finish() { due_ = ending_ = true; }
  // Everything is written, or cannot be.
  bool settled() const { return !writing_ && (recorder_.empty() || !failure_.ok()); }
  bool quiet() const { return worker_.quiet(); }

  // HistoryAsker
  Status ask_gaps(const GapsQuestion& question,
                  std::function<void(Result<GapsAnswer>)> done) override;
  Status ask_id(const std::string& name, std::int64_t id,
                std::function<void(Result<IdAnswer>)> done) override;
  Status ask_sums(const std::string& name, std::function<void()> now,
                  std::function<void(Result<SumsAnswer>)> done) override;

 private:
  struct Question {
    std::function<void()> now;                 // on the loop, when the batch is taken
    std::function<void(HistoryReader&)> read;  // on the worker
    std::function<void(const Status&)> done;   // on the loop; not OK: it was not read
  };
  // What the worker uses.
  struct Place {
    Place(const std::string& path, const std::string& host)
        : database(path), file(database, host), reader(database) {}
    HistoryDatabase database;
    HistoryFile file;
    HistoryReader reader;
  };
  struct Job;

  template <typename Answer>
  Status ask(std::function<void()> now, std::function<Result<Answer>(HistoryReader&)> read,
             std::function<void(Result<Answer>)> done);
  bool wants_batch() const {
    if (!questions_.empty() || due_) return true;
    // A file that cannot be written is tried again with the ticks only.
    return (recorder_.urgent() || recorder_.filling()) && failure_.ok();
  }
  // A large batch was written just now, and nobody waits for another one. By the loop's time: this
  // is asked in every turn.
  bool pausing() const { return questions_.empty() && !ending_ && loop_ms() < not_before_ms_; }
  std::int64_t loop_ms() const { return static_cast<std::int64_t>(uv_now(loop_)); }
  void take_batch(LogPosition position);
  void complete(HistorySequence& sequence) const;
  void submit(HistoryBatch batch);
  void written(Job& job);
  void warn(const std::vector<std::string>& warnings);
  void note(const Status& status);

  uv_loop_t* const loop_;
  Clock& clock_;
  EventSink& events_;
  HistoryLimits limits_;
  const std::shared_ptr<Place> place_;
  HistoryRecorder recorder_;
  HistoryCatchUp catch_up_;
  const SequenceTable* table_ = nullptr;
  std::vector<Question> questions_;  // of this turn, or waiting for the worker
  std::size_t asked_ = 0;            // not answered yet
  bool due_ = false;
  bool ending_ = false;
  bool writing_ = false;
  std::int64_t not_before_ms_ = 0;  // a batch that nobody waits for; by the loop's time
  Status failure_;                  // of the last batch
  ThreadWorker worker_;             // last: it ends first
};

}  // namespace seqd

#include "daemon/main/history.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/gap_event.h"
#include "daemon/os/host_name.h"

namespace seqd {
namespace {

// Of the time, writing takes at most one part of so many: a large batch is followed by a pause.
constexpr std::int64_t kPauseParts = 20;
constexpr std::int64_t kPruneEveryMs = 60'000;

std::vector<HeldSpan> spans_of(const std::vector<AvailableRange>& ranges) {
  std::vector<HeldSpan> spans;
  for (const AvailableRange& range : ranges) spans.push_back({range.lease, range.begin, range.end});
  return spans;
}

}  // namespace

// One job of the worker. It owns everything that it uses.
struct History::Job {
  Job(std::shared_ptr<Place> of, Clock& its_clock) : place(std::move(of)), clock(its_clock) {}

  std::shared_ptr<Place> place;
  Clock& clock;
  HistoryBatch batch;
  bool writes = false;
  HistoryLimits limits;
  std::vector<Question> questions;
  std::optional<Question> audit;  // the file is opened for it
  bool prunes = false;
  bool reading = false;  // an audit is under way
  Status status;
  Status opened;
  bool prune_again = false;
  bool log_due = false;  // the audit kept dropped rows in the write-ahead log
  std::vector<std::string> warnings;
  std::int64_t took_ms = 0;

  void run() {
    const std::int64_t began_ms = clock.monotonic_ms();
    if (writes) status = place->file.write(batch, limits);
    if (prunes) {
      const Result<bool> more = place->file.prune(limits, clock.wall_ms(), reading);
      prune_again = more.ok() && *more;
      log_due = reading && place->file.log_holds_dropped();
      if (status.ok()) status = more.status();
    }
    took_ms = clock.monotonic_ms() - began_ms;
    if (audit && status.ok()) opened = place->audit_reader.begin();
    // Events that could not be written would be missing in the answers.
    if (status.ok()) {
      for (const Question& question : questions) question.read(place->reader);
    }
    warnings = place->database.take_warnings();
  }
};

History::History(EventLoop& loop, Clock& clock, EventSink& events, const std::string& state_dir,
                 const HistoryLimits& limits, bool kept)
    : loop_(loop),
      clock_(clock),
      events_(events),
      limits_(limits),
      kept_(kept),
      place_(std::make_shared<Place>(state_dir + "/" + HistoryDatabase::kFileName, host_name())),
      recorder_(clock, {}),
      catch_up_(recorder_, [this] { return kept_ ? place_->file.read_mark() : HistoryMark(); }),
      auditor_(loop, "audit", 1),
      worker_(loop, "history", 1) {}

// --- start

RemainderLog& History::follow(RemainderLog& log) {
  if (!kept_) return log;
  log_ = std::make_unique<HistoryLog>(log, recorder_);
  return *log_;
}

void History::started(const Started& state) {
  catch_up_.finish(state.image, state.gaps, state.dropped, clock_.wall_ms());
  recorder_.turn_over();
  if (!kept_) {
    static_cast<void>(recorder_.take(0, [](HistorySequence&) {}));
    if (const Status removed = place_->file.remove(); !removed.ok()) warn({removed.text()});
    return;
  }
  if (recorder_.empty()) return warn(place_->database.take_warnings());
  const auto complete = [&](HistorySequence& sequence) {
    const auto found = state.image.sequences.find(sequence.id);
    if (found == state.image.sequences.end()) return;
    sequence.totals = found->second.totals;
    sequence.available = spans_of(held_by(found->second));
  };
  HistoryBatch batch = recorder_.take(state.log->statistics().position, complete);
  if (batch.gaps.empty()) {
    warn(place_->database.take_warnings());
    return submit(std::move(batch));
  }
  const Status status = place_->file.write(batch, limits_);
  warn(place_->database.take_warnings());
  note(status);
  if (!status.ok()) recorder_.take_back(std::move(batch));
}

void History::report_gaps(const Started& state) {
  const auto name_of = [&](SequenceId id) {
    const auto found = state.image.sequences.find(id);
    return found == state.image.sequences.end() ? catch_up_.lost_name(id)
                                                : found->second.definition.name;
  };
  const auto raise = [&](const GapMade& gap, const std::string& why) {
    events_.raise(gap_event(gap, name_of(gap.sequence), catch_up_.lease_of(gap.sequence, gap.begin),
                            catch_up_.instance_of(gap.sequence), why));
  };
  for (const GapMade& gap : state.gaps) raise(gap, state.how);
  for (const GapMade& gap : catch_up_.found()) {
    raise(gap, gap.cause == GapCause::corrupt
                   ? "the log with the record of their issue is missing or older than the history"
                   : "an earlier start discarded them and was killed");
  }
  for (const LeaseIntended& lease : state.dropped) {
    events_.raise(untraceable_event(lease, name_of(lease.sequence),
                                    catch_up_.instance_of(lease.sequence),
                                    "was discarded: " + state.how));
  }
  catch_up_.end();
}

// --- batches

void History::complete(HistorySequence& sequence) const {
  // By its number, which is found faster than a name; a batch may have thousands.
  if (table_ == nullptr || !table_->sequences().contains(sequence.id)) return;
  const Sequence& from = table_->at(sequence.id);
  if (from.name() != sequence.name) return;
  sequence.totals = from.totals();
  for (const Block* block : table_->blocks().of(sequence.id))
    sequence.available.push_back({block->lease, block->granted.begin, block->granted.end});
  for (const HeldRanges::Held& held : from.held().ranges()) {
    sequence.available.push_back({held.lease, held.range.begin(), held.range.end()});
  }
}

void History::tick() {
  due_ = true;
  if (!kept_ || loop_.now_ms() < prune_at_ms_) return;
  prune_ = true;
  prune_at_ms_ = loop_.now_ms() + kPruneEveryMs;
}

void History::finish() {
  due_ = ending_ = true;
  if (auditing_ && !opening_) place_->audited.interrupt();
}

void History::take_batch(LogPosition position) {
  if (!is_asked() && recorder_.empty() && !prune_) {
    due_ = false;
    return;
  }
  for (const Question& question : questions_.waiting()) {
    if (question.now) question.now();
  }
  if (may_audit()) questions_.next_audit().now();
  submit(recorder_.take(position, [this](HistorySequence& sequence) { complete(sequence); }));
}

void History::submit(HistoryBatch batch) {
  ASSERT(!writing_);
  due_ = ending_;
  writing_ = true;
  auto job = std::make_shared<Job>(place_, clock_);
  job->writes = !batch.sequences.empty();
  job->batch = std::move(batch);
  job->limits = limits_;
  job->questions = questions_.take_questions();
  job->prunes = std::exchange(prune_, false);
  job->reading = auditing_;
  if (may_audit()) {
    job->audit = questions_.take_audit();
    auditing_ = opening_ = true;
  }
  worker_.submit([job] { job->run(); }, [this, job] { written(*job); });
}

void History::written(Job& job) {
  ASSERT(writing_);
  writing_ = false;
  not_before_ms_ = loop_.now_ms() + job.took_ms * kPauseParts;
  if (job.prune_again) prune_at_ms_ = 0;
  if (job.prunes) log_due_ = job.log_due;
  if (log_due_ && !auditing_) prune_now();
  warn(job.warnings);
  if (job.writes || job.prunes) note(job.status);
  const Status failed =
      job.status.ok()
          ? Status()
          : Status(ErrorCode::UNAVAILABLE,
                   "the history cannot be written, and its answers would be incomplete: " +
                       job.status.text());
  if (!job.status.ok() && job.writes) recorder_.take_back(std::move(job.batch));
  for (const Question& question : job.questions) questions_.answered(question);
  for (const Question& question : job.questions) question.done(failed);
  if (job.audit) begin_audit(job, failed.ok() ? job.opened : failed);
}

void History::begin_audit(Job& job, const Status& failed) {
  ASSERT(job.audit && auditing_ && opening_);
  opening_ = false;
  auto question = std::make_shared<Question>(std::move(*job.audit));
  if (!failed.ok()) return audited(*question, failed);
  if (ending_) return audited(*question, {ErrorCode::STOPPING, "the daemon is stopping"});
  auditor_.submit(
      [question, place = place_] {
        question->read(place->audit_reader);
        place->audit_reader.end();
      },
      [this, question] { audited(*question, {}); });
}

void History::audited(const Question& question, const Status& failed) {
  ASSERT(auditing_ && !opening_);
  auditing_ = false;
  if (log_due_) prune_now();
  questions_.audited(question);
  question.done(failed);
}

void History::warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    events_.raise({EventKind::history_failed, warning, {}});
}

// Reported once when it begins, not at every retry.
void History::note(const Status& status) {
  if (!status.ok() && failure_.ok()) {
    events_.raise({EventKind::history_failed,
                   "the history cannot be written: " + status.text() +
                       "; its events are kept in memory until there is no room",
                   {}});
  }
  failure_ = status;
}

// --- questions

template <typename Answer>
History::Question History::question(UserId user, std::function<void()> now,
                                    std::function<Result<Answer>(HistoryReader&)> read,
                                    std::function<void(Result<Answer>)> done) {
  auto answer = std::make_shared<std::optional<Result<Answer>>>();
  return {
      user, std::move(now),
      [answer, read = std::move(read)](HistoryReader& reader) { answer->emplace(read(reader)); },
      [answer, done = std::move(done)](const Status& failed) {
        ASSERT(!failed.ok() || answer->has_value());
        done(failed.ok() ? std::move(**answer) : Result<Answer>(failed));
      }};
}

Status History::ask_gaps(UserId user, const GapsQuestion& asked,
                         std::function<void(Result<GapsAnswer>)> done) {
  return questions_.ask(question<GapsAnswer>(
      user, {}, [asked](HistoryReader& reader) { return reader.gaps(asked); }, std::move(done)));
}

Status History::ask_id(UserId user, const std::string& name, std::int64_t id,
                       std::function<void()> now, std::function<void(Result<IdAnswer>)> done) {
  return questions_.ask(question<IdAnswer>(
      user, std::move(now), [name, id](HistoryReader& reader) { return reader.id(name, id); },
      std::move(done)));
}

Status History::ask_sums(UserId user, const std::string& name, std::function<void()> now,
                         std::function<void(Result<SumsAnswer>)> done) {
  return questions_.ask_audit(question<SumsAnswer>(
      user, std::move(now), [name](HistoryReader& reader) { return reader.sums(name); },
      std::move(done)));
}

}  // namespace seqd

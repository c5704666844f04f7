#include "daemon/core/insert/insert_queue.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

InsertQueue::InsertQueue(const CoreContext& context, const SettingsSource& settings,
                         InsertAccounts& accounts, std::string name, InsertStore& store)
    : RequestQueue(context, accounts, std::move(name), "documents"),
      settings_(settings),
      store_(store),
      accounts_(accounts) {}

Result<const SequenceSettings*> InsertQueue::settings() const {
  const SequenceSettings* found = settings_.find(name());
  if (found == nullptr)
    return Status(ErrorCode::NO_SEQUENCE, "\"" + name() + "\" is not configured any more");
  if (found->mode != SequenceMode::insert)
    return Status(ErrorCode::WRONG_MODE, "\"" + name() + "\" does not insert any more");
  return found;
}

Status InsertQueue::add(Wanted wanted) {
  auto insert = std::make_unique<Insert>();
  insert->session = wanted.session;
  insert->bytes = wanted.document.size();
  insert->item = {std::make_shared<const std::string>(std::move(wanted.document)),
                  std::move(wanted.unique)};
  insert->done = std::move(wanted.done);
  return RequestQueue::add(std::move(insert), wanted.user, wanted.timeout_ms);
}

void InsertQueue::send(std::int64_t patience_ms) {
  const SequenceSettings& settings = **this->settings();  // as start() has found them
  InsertBatch batch;
  batch.collection = settings.binding.collection;
  batch.first_id = settings.binding.first_id;
  batch.max_value = settings.max_value;
  batch.patience_ms = patience_ms;
  for (const std::unique_ptr<Request>& request : sent())
    batch.items.push_back(as_insert(*request).item);
  store_.insert(batch, [this](const std::vector<InsertOutcome>& outcomes) { answered(outcomes); });
}

void InsertQueue::answered(const std::vector<InsertOutcome>& outcomes) {
  ASSERT(outcomes.size() == sent().size());
  const auto has = [&outcomes](InsertOutcome::Kind kind) {
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [kind](const InsertOutcome& outcome) { return outcome.kind == kind; });
  };
  Round round = {.any = has(InsertOutcome::Kind::inserted),
                 .failed = has(InsertOutcome::Kind::failed),
                 .contended = has(InsertOutcome::Kind::contended)};
  end_round(round, [&](Request& request, std::size_t at) {
    if (!settle(as_insert(request), outcomes[at])) return false;
    round.failed = round.failed || outcomes[at].kind == InsertOutcome::Kind::unknown;
    return true;
  });
}

bool InsertQueue::settle(Insert& insert, const InsertOutcome& outcome) {
  switch (outcome.kind) {
    case InsertOutcome::Kind::inserted:
      ++inserted_;
      accounts_.inserted();
      last_ = std::max(last_.value_or(0), outcome.id);
      insert.done(outcome.id);
      return false;
    case InsertOutcome::Kind::refused:
      // What refuses the document has refused it before; any other error proves nothing about that
      // try.
      insert.done(insert.perhaps.ok() || outcome.error.code() == ErrorCode::DOCUMENT_REFUSED
                      ? outcome.error
                      : insert.perhaps);
      return false;
    case InsertOutcome::Kind::unknown:
      // A unique field makes it safe to send it again, which determines the outcome.
      if (!insert.item.unique.empty()) {
        insert.perhaps = outcome.error;
        break;
      }
      unknown(insert, outcome);
      return false;
    case InsertOutcome::Kind::failed:
      if (error().ok()) {
        context_.events.raise({EventKind::insert_failed,
                               "sequence \"" + name() + "\": " + outcome.error.to_string(),
                               {{"SEQUENCE", name()}}});
      }
      note_error(outcome.error);
      break;
    case InsertOutcome::Kind::contended:
      ++insert.tries;
      break;
    case InsertOutcome::Kind::untried:
      break;
  }
  return insert.session != 0;
}

void InsertQueue::unknown(const Insert& insert, const InsertOutcome& outcome) {
  context_.events.raise({EventKind::insert_unknown,
                         "sequence \"" + name() + "\": " + outcome.error.text(),
                         {{"SEQUENCE", name()}, {"ID", std::to_string(outcome.id)}}});
  insert.done(outcome.error);
}

Status InsertQueue::too_late(const Request& request) const {
  if (!request.perhaps.ok()) return request.perhaps;
  if (!error().ok()) return error();
  if (request.tries > 0) {
    return {ErrorCode::BUSY, "the document was not inserted: " + std::to_string(request.tries) +
                                 " times others took the next _id of \"" + name() + "\" first"};
  }
  return {ErrorCode::BUSY,
          "the document was not inserted: it waited for those before it for the whole time"};
}

}  // namespace seqd

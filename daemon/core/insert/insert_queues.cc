#include "daemon/core/insert/insert_queues.h"

#include <algorithm>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/words/token.h"

namespace seqd {

InsertQueues::InsertQueues(const CoreContext& context, const SettingsSource& settings,
                           Stores stores, std::size_t most_sequences)
    : context_(context),
      settings_(settings),
      stores_(std::move(stores)),
      most_sequences_(most_sequences),
      run_(to_hex(random_token(context.random))) {}

Result<InsertQueue*> InsertQueues::open(std::string_view name) {
  if (const auto found = queues_.find(name); found != queues_.end())
    return found->second.queue.get();
  if (!ending_.ok()) return ending_;
  const std::string text(name);
  const SequenceSettings* settings = settings_.find(text);
  if (settings == nullptr || settings->mode != SequenceMode::insert) {
    return Status(settings == nullptr ? ErrorCode::NO_SEQUENCE : ErrorCode::WRONG_MODE,
                  "\"" + text + "\" does not insert documents; configure [sequence.\"" + text +
                      "\"] with mode = \"insert\" and the collection, or take its IDs with next");
  }
  const auto store = stores_.find(settings->store);
  if (store == stores_.end()) {
    return Status(ErrorCode::CONFIG, "\"" + text + "\" names the store \"" + settings->store +
                                         "\", which is not a mongodb store that is running");
  }
  if (queues_.size() >= most_sequences_) {
    return Status(ErrorCode::BUSY, "there are " + std::to_string(queues_.size()) +
                                       " sequences already (limits.max_sequences)");
  }
  ASSERT(store->second != nullptr);
  Held& held = queues_[text];
  held.store = settings->store;
  held.queue = std::make_unique<InsertQueue>(context_, settings_, accounts_, text, *store->second);
  return held.queue.get();
}

Status InsertQueues::insert(std::string_view name, InsertQueue::Wanted wanted) {
  const Result<InsertQueue*> queue = open(name);
  return queue.ok() ? (*queue)->add(std::move(wanted)) : queue.status();
}

const InsertQueue* InsertQueues::find(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : found->second.queue.get();
}

std::optional<InsertQueues::View> InsertQueues::view(std::string_view name) const {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return std::nullopt;
  return View{found->first, found->second.store, found->second.queue.get()};
}

std::vector<InsertQueues::View> InsertQueues::list() const {
  std::vector<View> out;
  out.reserve(queues_.size());
  for (const auto& [name, held] : queues_) out.push_back({name, held.store, held.queue.get()});
  return out;
}

std::vector<InsertQueues::View> InsertQueues::list(std::string_view after, std::size_t most) const {
  std::vector<View> out;
  for (auto one = queues_.upper_bound(after); one != queues_.end() && out.size() < most; ++one)
    out.push_back({one->first, one->second.store, one->second.queue.get()});
  return out;
}

void InsertQueues::cancel(SessionId session, const Refusal& why) {
  for (RequestQueue* queue : accounts_.waited_for_by(session)) {
    const Status refused = why ? why(queue->name()) : Status();
    if (!why || !refused.ok()) queue->cancel(session, refused);
  }
}

void InsertQueues::begin_stop(const Status& why) {
  ending_ = why;
  for (const auto& [name, held] : queues_) held.queue->begin_stop(why);
}

bool InsertQueues::settled() const {
  return std::none_of(queues_.begin(), queues_.end(),
                      [](const auto& each) { return each.second.queue->in_flight(); });
}

}  // namespace seqd

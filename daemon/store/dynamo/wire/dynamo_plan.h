// DynamoPlan: one verb of the store as a sequence of steps, each a read or a conditional update of
// one item or of some together, decided by what the step before brought. Plans do no I/O and use no
// clock; run_plan() walks one to its end. Loop thread.
//
// Invariant: a plan ends with any answers of the store: it counts its attempts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/store/dynamo/wire/dynamo_batch.h"
#include "daemon/store/dynamo/wire/dynamo_client.h"

namespace seqd {

template <typename Answer>
class DynamoPlan {
 public:
  // The end; an item to be read; an update to be made; the same of several items.
  using Step = std::variant<Answer, DynamoKey, DynamoUpdate, DynamoKeys, DynamoTransaction>;

  virtual ~DynamoPlan() = default;
  virtual Step begin() = 0;
  // After each kind of step that the plan takes: what was read, where no item is no error; or what
  // became of the update.
  virtual Step after_read(Result<std::optional<DynamoItem>> item) { return never(std::move(item)); }
  virtual Step after_update(DynamoAnswer answer) { return never(std::move(answer)); }
  virtual Step after_items(Result<DynamoItems> items) { return never(std::move(items)); }
  virtual Step after_transaction(DynamoAnswer answer) { return never(std::move(answer)); }

 private:
  template <typename Given>
  static Step never(Given&& /*answer*/) {
    ASSERT(false);
  }
};

template <typename Answer>
void walk(const std::shared_ptr<DynamoClient>& client,
          const std::shared_ptr<DynamoPlan<Answer>>& plan, typename DynamoPlan<Answer>::Step step,
          std::function<void(Answer)> done) {
  if (auto* const answer = std::get_if<Answer>(&step)) return done(std::move(*answer));
  if (const auto* const key = std::get_if<DynamoKey>(&step)) {
    client->read(*key, [=](DynamoAnswer read) {
      using Item = Result<std::optional<DynamoItem>>;
      Item item = read.kind == DynamoAnswer::Kind::done ? Item(std::move(read.item))
                                                        : Item(std::move(read.error));
      walk(client, plan, plan->after_read(std::move(item)), done);
    });
    return;
  }
  if (const auto* const keys = std::get_if<DynamoKeys>(&step)) {
    return read_all(client, *keys, [=](Result<DynamoItems> items) {
      walk(client, plan, plan->after_items(std::move(items)), done);
    });
  }
  if (const auto* const transaction = std::get_if<DynamoTransaction>(&step)) {
    client->transact(*transaction, [=](DynamoAnswer answer) {
      walk(client, plan, plan->after_transaction(std::move(answer)), done);
    });
    return;
  }
  client->update(std::get<DynamoUpdate>(step), [=](DynamoAnswer answer) {
    walk(client, plan, plan->after_update(std::move(answer)), done);
  });
}

// A plan whose first step is its end needs no answer of the store, and yet is not answered at once.
template <typename Answer>
void run_plan(const std::shared_ptr<DynamoClient>& client, std::shared_ptr<DynamoPlan<Answer>> plan,
              std::function<void(Answer)> done) {
  typename DynamoPlan<Answer>::Step first = plan->begin();
  if (std::holds_alternative<Answer>(first)) {
    client->later(
        [first = std::move(first), done = std::move(done)] { done(std::get<Answer>(first)); });
    return;
  }
  walk(client, plan, std::move(first), std::move(done));
}

}  // namespace seqd

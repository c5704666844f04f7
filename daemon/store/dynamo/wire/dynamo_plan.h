// DynamoPlan: one verb of the store as a sequence of steps, each a read or a conditional update of
// one item, decided by what the step before brought. Plans do no I/O and use no clock; run_plan()
// walks one to its end. Loop thread.
//
// Invariant: a plan ends with any answers of the store: it counts its attempts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "daemon/core/leasing/lease_store.h"
#include "daemon/store/dynamo/wire/dynamo_client.h"

namespace seqd {

template <typename Answer>
class DynamoPlan {
 public:
  // The end; an item to be read; an update to be made.
  using Step = std::variant<Answer, DynamoKey, DynamoUpdate>;

  virtual ~DynamoPlan() = default;
  virtual Step begin() = 0;
  // What was to be read. No item is no error.
  virtual Step after_read(Result<std::optional<DynamoItem>> item) = 0;
  virtual Step after_update(DynamoAnswer answer) = 0;
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
  client->update(std::get<DynamoUpdate>(step), [=](DynamoAnswer answer) {
    walk(client, plan, plan->after_update(std::move(answer)), done);
  });
}

// A plan whose first step is its end needs no answer of the store, and yet is not answered at once;
// so plans begin with a read or an update.
template <typename Answer>
void run_plan(const std::shared_ptr<DynamoClient>& client, std::shared_ptr<DynamoPlan<Answer>> plan,
              std::function<void(Answer)> done) {
  typename DynamoPlan<Answer>::Step first = plan->begin();
  ASSERT(!std::holds_alternative<Answer>(first));
  walk(client, plan, std::move(first), std::move(done));
}

}  // namespace seqd

// ScriptedInserts: a collection in memory whose highest _id is the number of its documents. A batch
// takes effect when it is called and is answered when the test delivers it; the next answers can be
// scripted. One thread.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/insert/insert_store.h"

namespace seqd {

class ScriptedInserts final : public InsertStore {
 public:
  using Kind = InsertOutcome::Kind;
  struct Script {
    Kind kind = Kind::inserted;  // of the first document; those behind it are untried, or share it
    Status error;
  };

  void insert(const InsertBatch& batch,
              std::function<void(std::vector<InsertOutcome>)> done) override {
    batches.push_back(batch);
    Script script;
    if (!scripts.empty()) {
      script = scripts.front();
      scripts.pop_front();
    }
    std::vector<InsertOutcome> outcomes(batch.items.size());
    for (std::size_t at = 0; at < outcomes.size(); ++at) {
      const std::string& document = *batch.items[at].document;
      if (refused.contains(document)) {
        outcomes[at] = {Kind::refused, 0, Status(ErrorCode::DOCUMENT_REFUSED, "validator")};
        continue;
      }
      const bool shared = script.kind != Kind::contended && script.kind != Kind::refused;
      if (at > 0 && !shared) continue;
      outcomes[at] = {script.kind, 0, script.error};
      if (script.kind == Kind::unknown) outcomes[at].id = static_cast<std::int64_t>(at) + 1'000;
      if (script.kind != Kind::inserted) continue;
      documents.push_back(document);
      outcomes[at].id = batch.first_id - 1 + static_cast<std::int64_t>(documents.size());
    }
    answers_.emplace_back([done = std::move(done), outcomes] { done(outcomes); });
  }

  // Gives the oldest answer that waits. False when there is none.
  bool deliver() {
    if (answers_.empty()) return false;
    const auto answer = std::move(answers_.front());
    answers_.pop_front();
    answer();
    return true;
  }

  // The process that asked is gone.
  void drop_pending() { answers_.clear(); }

  std::deque<Script> scripts;
  std::set<std::string> refused;  // documents that the validator does not like
  std::vector<InsertBatch> batches;
  std::vector<std::string> documents;

 private:
  std::deque<std::function<void()>> answers_;
};

}  // namespace seqd

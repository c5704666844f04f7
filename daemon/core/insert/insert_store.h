// InsertStore: the interface of a store that inserts documents: each gets the highest integer _id
// of its collection plus one. Asynchronous, as LeaseStore: every call answers exactly once on the
// loop thread, never before it returned.
//
// Invariant: an ID is reported as a document's (`inserted`) only when a majority has it there, and
// a document is never inserted twice by one call; one with a unique field, not by several calls
// either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

struct InsertItem {
  std::shared_ptr<const std::string> document;  // a MessagePack map, without _id
  // A field of it whose value no two documents of the collection have: where there is one with this
  // value, its _id is the answer, and nothing is inserted. Empty: none.
  std::string unique;
};

struct InsertBatch {
  std::string collection;
  std::int64_t first_id = 1;   // where no _id of the collection is that high yet
  std::int64_t max_value = 0;  // the highest _id that may be used
  std::vector<InsertItem> items;
  // How long it may look up an unknown outcome.
  std::int64_t patience_ms = 0;
};

// What became of one document of a batch. In the order of the batch: those that got IDs got
// consecutive ones, but for what was refused in between.
struct InsertOutcome {
  enum class Kind : std::uint8_t {
    inserted,   // `id` is its _id, or that of the one with the same unique value
    refused,    // not inserted, and it never will be; `error` says why
    contended,  // not inserted: another writer took the _id first
    untried,    // not inserted: the batch ended before it
    failed,     // not inserted: the store cannot at present; `error` says why
    unknown     // perhaps inserted as `id`; `error` says so
  };
  Kind kind = Kind::untried;
  std::int64_t id = 0;
  Status error;
};

class InsertStore {
 public:
  virtual ~InsertStore() = default;
  // One outcome for each document.
  virtual void insert(const InsertBatch& batch,
                      std::function<void(std::vector<InsertOutcome>)> done) = 0;
};

}  // namespace seqd

// OldCode: a way to issue IDs that programs had before seqd, imitated so that a test can run it
// beside daemons. Each class is one way, with its field names, its steps and its mistakes; none
// knows of seqd. Owned by main; `next` is called by as many threads as the old program had callers.
#pragma once

#include <mongoc/mongoc.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/seeds/counter_document.h"
#include "tests/seeds/issue_log.h"

namespace seqd::seeds {

class OldCode {
 public:
  virtual ~OldCode() = default;
  // An ID to whoever called; none when the store failed, and the caller may come again.
  virtual std::optional<std::int64_t> next() = 0;
};

struct Database {
  mongoc_client_t* client = nullptr;  // outlives the old code
  std::string name;
};

// A counters collection: `{_id: NAME, seq: LAST}`, one findAndModify an ID, which becomes the _id
// of a document elsewhere.
class CountersCollection : public OldCode {
 public:
  struct Ways {
    bool upsert = false;
    bool version_key = false;  // mongoose's
    Written written = Written::int32;
    std::string into = "users";  // the collection of the documents that get the IDs
  };
  CountersCollection(const Database& database, const std::string& name, Ways ways, IssueLog& log);
  std::optional<std::int64_t> next() override;

 private:
  struct Destroy {
    void operator()(mongoc_collection_t* object) const { mongoc_collection_destroy(object); }
  };

  IssueLog& log_;
  const Ways ways_;
  std::mutex mutex_;  // guards the two below: one connection
  CounterDocument counter_;
  std::unique_ptr<mongoc_collection_t, Destroy> users_;
};

// Optimistic insert: no counter at all. The highest _id of the collection is read, and the document
// inserted with the next one; on a duplicate key it starts over. Documents say whose they are.
class OptimisticInsert : public OldCode {
 public:
  // `name` is the collection's.
  OptimisticInsert(const Database& database, const std::string& name, std::string label,
                   IssueLog& log);
  std::optional<std::int64_t> next() override;

 private:
  struct Destroy {
    void operator()(mongoc_collection_t* object) const { mongoc_collection_destroy(object); }
  };
  std::int64_t highest();

  IssueLog& log_;
  const std::string label_;
  std::mutex mutex_;  // guards the two below: one connection
  std::unique_ptr<mongoc_collection_t, Destroy> documents_;
  std::int64_t number_ = 0;  // of the document, among those of this process
};

// Daily readable IDs: `{prefix: YYMMDD, count: LAST}`, a document a day by the clock on the wall,
// made by the first who comes, its `_id` the server's. An ID is both numbers: prefix times kCounts
// and count. Documents of old days are removed.
class DailyIds : public OldCode {
 public:
  static constexpr std::int64_t kCounts = 10'000'000;
  DailyIds(const Database& database, int keep_days, IssueLog& log);
  std::optional<std::int64_t> next() override;

 private:
  const Database database_;
  const int keep_days_;
  IssueLog& log_;
  std::mutex mutex_;  // guards the two below: one connection
  std::int64_t prefix_ = 0;
  std::unique_ptr<CounterDocument> counter_;
};

// A cached block as the Go code has it: `{_id: NAME, sequence: LAST}`, 25 at a time, made by the
// first who comes. Callers wait for the lock.
class CachedBlock : public OldCode {
 public:
  CachedBlock(const Database& database, const std::string& name, IssueLog& log);
  std::optional<std::int64_t> next() override;

 private:
  bool fetch();

  IssueLog& log_;
  std::mutex mutex_;  // guards everything below
  CounterDocument counter_;
  std::int64_t issued_ = 0;
  std::int64_t sequence_ = 0;  // the end of the block, which is in it
};

// A cached range as the Node code has it: `{_id: NAME, index: NEXT}`, made with 1000 and moved by
// 10. Callers queue behind one fetch in flight; while the queue outlasts a range there is another
// fetch; one that fails fails everybody in the queue.
class CachedRange : public OldCode {
 public:
  CachedRange(const Database& database, const std::string& name, IssueLog& log);
  std::optional<std::int64_t> next() override;

 private:
  struct Waiter {
    bool done = false;
    std::optional<std::int64_t> id;
  };
  void serve();
  void fetch(std::unique_lock<std::mutex>& lock);

  IssueLog& log_;
  CounterDocument counter_;  // belongs to whoever fetches
  std::mutex mutex_;         // guards everything below
  std::condition_variable served_;
  std::deque<Waiter*> waiters_;
  bool fetching_ = false;
  std::int64_t next_ = 0;
  std::int64_t index_ = 0;  // the end of the range, which is not in it
};

}  // namespace seqd::seeds

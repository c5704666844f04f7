// Decommission: removes this instance, one step after the other:
//
//   look     every store is asked what it holds of us, so that one that is away is known first
//   refuse   requests for IDs hear STOPPING; repeats of what was issued are still answered
//   drain    what is available is returned, as `reuse` says; open leases are settled first
//   mark     the directory says that we retire: from here on there is no way back
//   forget   every store forgets us
//
// A failure before the mark ends the refusal, and the daemon continues. After the mark it refuses,
// also after a restart, until the request was repeated and every store has forgotten. Loop thread.
//
// Invariant: a store forgets the instance only when nothing is available, being leased or being
// returned, and when no later process of this directory can lease as this instance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {

// Who a state directory was to a store.
struct RetiredInstance {
  std::string store;
  Token instance{};
  bool operator==(const RetiredInstance&) const = default;
};

struct DecommissionReport {
  // preview: nothing was changed.   refused: the daemon continues; ranges may have been returned.
  // unfinished: it cannot be undone, repeat it.   done: nothing is left but the directory.
  enum class End : std::uint8_t { preview, refused, unfinished, done };
  struct OfSequence {
    std::string name;
    SequenceTotals totals;
    std::int64_t available = 0;
    std::int64_t out = 0;        // in blocks
    std::int64_t returning = 0;  // back to the store
    bool leasing = false;        // a lease whose outcome is not known
    DrainReport drained;
    Status error;
  };
  struct OfStore {
    std::string name;
    Token instance{};
    InstanceRecords records;
    bool forgotten = false;
    Status error;
  };
  End end = End::preview;
  Status why;  // refused, unfinished
  std::vector<OfSequence> sequences;
  std::vector<OfStore> stores;
};

class Decommission {
 public:
  // The state directory.
  class Place {
   public:
    virtual ~Place() = default;
    // Returns OK when later lives will know, by resume(), that these instances retire.
    virtual Status mark(const std::vector<RetiredInstance>& instances) = 0;
  };
  using Done = std::function<void(const DecommissionReport&)>;

  // Table and place outlive it.
  Decommission(const CoreContext& context, SequenceTable& table, Place& place);
  Decommission(const Decommission&) = delete;
  Decommission& operator=(const Decommission&) = delete;

  // An earlier life went beyond the mark: requests are refused. Before anything is served.
  void resume(std::vector<RetiredInstance> marked);
  // `done` is called once, in this or a later turn. BUSY: another one is under way.
  Status begin(bool only_look, std::int64_t timeout_ms, Done done);

 private:
  struct Call {
    std::size_t part = 0;  // of report_.stores
    LeaseStore* store = nullptr;
    ForgetRequest request;
  };

  void list_stores();
  void add_store(const std::string& name, const Token& instance);
  void list_sequences();
  void ask_stores(bool only_look);
  void ask_next();
  void answered(const Result<InstanceRecords>& found);
  void looked();
  void drain();
  void drained_one();
  void drained();
  void forgotten();
  void finish(DecommissionReport::End end, const Status& why);
  Status first_error() const;

  const CoreContext context_;
  SequenceTable& table_;
  Place& place_;
  std::vector<RetiredInstance> marked_;
  bool no_way_back_ = false;

  // Of the one under way.
  Done done_;
  bool only_look_ = false;
  std::int64_t timeout_ms_ = 0;
  DecommissionReport report_;
  std::vector<Call> calls_;
  std::size_t next_ = 0;      // of calls_
  std::size_t draining_ = 0;  // sequences, and one while they are being started
  Lifetime alive_;
};

}  // namespace seqd

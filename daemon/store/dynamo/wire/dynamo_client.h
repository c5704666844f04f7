// DynamoClient: reads and updates items of Amazon DynamoDB over an HttpClient, and reports for
// every failure whether something may have been applied. It retries nothing: the caller has a
// back-off. Loop thread; the referenced objects outlive it, and it outlives its calls: the caller
// holds it until the answer.
//
// Invariant: the outcome is `refused` only if the service itself refused, or nothing was sent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/http.h"
#include "daemon/base/time/clock.h"
#include "daemon/base/time/timers.h"
#include "daemon/store/dynamo/credentials/aws_provider.h"
#include "daemon/store/dynamo/wire/dynamo_wire.h"

namespace seqd {

struct DynamoTarget {
  std::string endpoint;  // "https://dynamodb.eu-central-1.amazonaws.com", without a path
  std::string region;
  std::int64_t timeout_ms = 10'000;  // of one request
  bool unsafe_global_table = false;  // items that two regions may write are taken, too
};

// done: applied, or read; `item` is what was read or changed, none where there is no item.
// mismatch: a condition did not hold, nothing was applied; of a transaction: it was cancelled, for
// `reasons`.   refused: certainly nothing was applied. unknown: it may have been applied, or may
// yet be.
struct DynamoAnswer {
  enum class Kind : std::uint8_t { done, mismatch, refused, unknown };
  Kind kind = Kind::unknown;
  std::optional<DynamoItem> item;
  Status error;
  std::string other_regions = {};  // see DynamoBody
  bool cannot_be_asked = false;    // of describe(): the right or the operation is not there
  std::vector<std::optional<DynamoItem>> items = {};  // of read_together()
  std::vector<DynamoReason> reasons = {};             // as many as items were asked for, or none
};

// Why a global table is refused, and what to do.
inline constexpr char kGlobalTable[] =
    ", where the last writer wins, so two regions would lease the same IDs; use a table of one "
    "region, or set unsafe_global_table = true if all hosts use this region";

inline constexpr std::size_t kMostInTransaction = 100;
struct DynamoTransaction {
  std::vector<DynamoUpdate> updates;
  std::string token;
};

class DynamoClient {
 public:
  using Done = std::function<void(DynamoAnswer)>;

  DynamoClient(HttpClient& http, Timers& timers, const Clock& clock, DynamoTarget target,
               AwsProvider& credentials)
      : http_(http),
        timers_(timers),
        clock_(clock),
        target_(std::move(target)),
        credentials_(credentials) {}

  // STORE_REFUSED: the item is one of a global table. That stays known of its table.
  void read(const DynamoKey& key, Done done);
  // Of the whole table. Needs a right of its own; if it is missing, the credentials may still be
  // good.
  void describe(const std::string& table, Done done);
  void update(const DynamoUpdate& update, Done done);
  // At most kMostInTransaction items, of one moment; as read().
  void read_together(const DynamoKeys& keys, Done done);
  // At most so many updates of different items, all of them or none; see transaction_body().
  void transact(const DynamoTransaction& transaction, Done done);

  // Host, table and item, for people.
  std::string place_of(const DynamoKey& key) const;
  std::string place_of_table(const std::string& table) const;
  // Not OK: the error of an item of that table that was read, and is one of a global table.
  Status read_as_global(const std::string& table) const;
  bool takes_global_tables() const { return target_.unsafe_global_table; }
  std::int64_t wall_ms() const { return clock_.wall_ms(); }
  std::int64_t monotonic_ms() const { return clock_.monotonic_ms(); }
  // Runs on the loop, after the present call has returned.
  void later(std::function<void()> call) { timers_.schedule(0, std::move(call)); }

 private:
  struct Request {
    const char* operation;
    std::string body;
    std::string where;
    bool may_be_missing = false;  // the right to it, or the operation
  };
  void send(Request request, Done done);
  // The answer instead of an item of a global table, which may not be used; none: it is not one.
  std::optional<DynamoAnswer> as_global(const DynamoKey& key, const DynamoItem& item);
  void sign_and_send(const Request& asked, Done done,
                     const std::shared_ptr<const AwsCredentials>& credentials);

  HttpClient& http_;
  Timers& timers_;
  const Clock& clock_;
  const DynamoTarget target_;
  AwsProvider& credentials_;
  std::map<std::string, Status> global_tables_;  // by what was read; as many as are configured
};

// What an answer of the service means. Pure; `where` begins the text of an error, which holds none
// of the secrets of `credentials`: for a wrong signature, the service returns the text that it
// signed itself.
DynamoAnswer judge_dynamo_reply(const HttpReply& reply, const std::string& where,
                                const AwsCredentials& credentials = {});
// What the service found wrong with the credentials; none: nothing.
std::optional<AwsRefusal> refusal_of_credentials(const HttpReply& reply);

}  // namespace seqd

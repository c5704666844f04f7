// What goes to DynamoDB and comes from it, in its JSON: items, conditional updates, answers. Values
// and builders without any I/O; any thread. An answer is hostile input: what cannot be read is an
// error and never guessed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

struct DynamoScalar {
  enum class Kind : std::uint8_t { number, text, other };
  Kind kind = Kind::other;
  std::string text;  // a number: as its digits; another type: its name
};

// An attribute: a scalar, a map of scalars, or a set of texts or numbers. What lies deeper is not
// ours, and not kept.
struct DynamoValue : DynamoScalar {
  DynamoValue() = default;
  explicit DynamoValue(DynamoScalar scalar) : DynamoScalar(std::move(scalar)) {}
  std::map<std::string, DynamoScalar> members;
  std::set<std::string> elements;  // of a set, whose `text` is "SS" or "NS"
  bool is_map = false;
};

DynamoValue dynamo_number(std::int64_t number);
DynamoValue dynamo_text(std::string text);
DynamoValue dynamo_map(std::map<std::string, DynamoScalar> members);
// Of one element at least.
DynamoValue dynamo_texts(std::set<std::string> texts);
DynamoValue dynamo_numbers(const std::set<std::int64_t>& numbers);

using DynamoItem = std::map<std::string, DynamoValue>;

// The integer that a number is; none: a fraction, out of bounds, or no number.
std::optional<std::int64_t> dynamo_integer(const DynamoScalar& value);

// Which item: of a table with a hash key that is a text, and no sort key.
struct DynamoKey {
  std::string table;
  std::string key_field;
  std::string key;
};

// Several of them, each once.
struct DynamoKeys {
  std::string table;
  std::string key_field;
  std::vector<std::string> keys;
};

// Of GetItem, strongly consistent.
std::string read_body(const DynamoKey& key);
// Of TransactGetItems: all as they are at one moment.
std::string read_together_body(const DynamoKeys& keys);
std::string describe_body(const std::string& table);
// Whether an item is one of a global table of version 2017.11.29.
bool is_of_global_table(const DynamoItem& item);

// Of UpdateItem: changes and conditions of one item, applied together or not at all. The answer
// holds what was changed.
class DynamoUpdate {
 public:
  explicit DynamoUpdate(DynamoKey key) : key_(std::move(key)) {}

  DynamoUpdate& set(const std::string& name, const DynamoValue& value);
  // What `from` holds before the update, and `more`.
  DynamoUpdate& set_sum(const std::string& name, const std::string& from, std::int64_t more);
  // Where it has none yet.
  DynamoUpdate& set_first(const std::string& name, const DynamoValue& value);
  DynamoUpdate& remove(const std::string& name);
  // Of a set.
  DynamoUpdate& put_in(const std::string& name, const DynamoValue& elements);
  DynamoUpdate& take_out(const std::string& name, const DynamoValue& elements);

  // Each is a condition; all have to hold.
  DynamoUpdate& require_equal(const std::string& name, const DynamoValue& value);
  DynamoUpdate& require_between(const std::string& name, std::int64_t low, std::int64_t high);
  DynamoUpdate& require_missing(const std::string& name);
  DynamoUpdate& require_there(const std::string& name);
  DynamoUpdate& require_equal_or_missing(const std::string& name, const DynamoValue& value);
  DynamoUpdate& require_at_most_or_missing(const std::string& name, std::int64_t high);
  DynamoUpdate& require_member(const std::string& name, const std::string& member,
                               const DynamoValue& value);

  DynamoUpdate& require_not_in(const std::string& name, const DynamoValue& element);

  const DynamoKey& key() const { return key_; }
  std::string body() const { return written(true); }
  // As a part of a transaction, which returns nothing.
  std::string part() const { return written(false); }

 private:
  std::string written(bool with_answer) const;
  std::string name(const std::string& name);
  std::string value(const DynamoValue& value);
  DynamoUpdate& require(const std::string& condition);

  DynamoKey key_;
  std::vector<std::string> names_;
  std::vector<DynamoValue> values_;
  std::string set_;
  std::string remove_;
  std::string put_in_;
  std::string take_out_;
  std::string condition_;
};

// Of TransactWriteItems: updates of different items, all of them or none. A repeat that has the
// same token, of at most 36 bytes, is not applied again.
std::string transaction_body(const std::vector<DynamoUpdate>& updates, const std::string& token);

// Why a transaction was cancelled, as to one of its items. "None": not because of this one.
struct DynamoReason {
  std::string code;
  std::string message;
};

// The body of an answer: of a good one the item or what was changed; of a bad one what is wrong.
struct DynamoBody {
  std::optional<DynamoItem> item;
  // Of TransactGetItems, in their order.
  std::optional<std::vector<std::optional<DynamoItem>>> items;
  // Of a table: the other regions that have it and may write to it independently.
  std::string other_regions;
  std::string error_type;  // "ThrottlingException"; empty: none
  std::string message;
  std::vector<DynamoReason> reasons;  // one for each item of the transaction
};
Result<DynamoBody> read_dynamo_body(std::string_view text);

}  // namespace seqd

// CounterBinding: where one counter lives and how to read it. A value; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace seqd {

// The meaning of the number in the store. `unset`: not configured; see CounterBinding.
enum class Meaning : std::uint8_t { unset, last, next };

// "last", "next" or "unset": the word in a store, in the configuration and in the log.
const char* meaning_word(Meaning meaning);

// What kind of value the key is in the store; an integer's `key` is its digits.
enum class KeyType : std::uint8_t { text, integer };

// Names are those of the seed systems: collection (or table), the field that holds the key, the key
// itself, the field that holds the number. A store that has no such notions uses `key` alone.
struct CounterBinding {
  std::string collection = "counters";
  std::string key_field = "_id";
  std::string key;  // the sequence's name unless configured
  KeyType key_type = KeyType::text;
  std::string counter_field = "seq";
  // unset: a counter that does not exist is created as `last` and marked as such in the store, so
  // that other hosts agree; one that exists unmarked is SEQ_MEANING.
  Meaning meaning = Meaning::unset;
  std::int64_t first_id = 1;  // the first ID of a counter that seqd creates, 1 .. 2^63-1
  bool create = true;         // whether a counter that does not exist may be created
  bool create_index = false;  // whether a missing unique index on key_field may be created
  // A counter that is created begins above the highest integer in this field of this collection;
  // no collection: at first_id. Only MongoDB has that.
  std::string seed_collection;
  std::string seed_field;  // empty: _id

  auto operator<=>(const CounterBinding&) const = default;
};

}  // namespace seqd

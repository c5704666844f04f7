// CounterDocument: the one document in which old code keeps a counter, as the driver of its
// language moves it: findAndModify with $inc, the new document returned. Reads what JavaScript and
// Go would read as a whole number. It knows nothing of seqd. Owned by one row's code; one thread at
// a time.
#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <memory>
#include <string>

namespace seqd::seeds {

// How a small whole number is written: by the drivers for Node and Go as int32, by the mongo shell
// as a double.
enum class Written : std::uint8_t { int32, real };

struct CounterPlace {
  std::string collection;
  std::string name;   // the value of the key
  std::string field;  // that holds the number
  std::string key = "_id";
  bool key_is_number = false;
};

struct Moved {
  enum class Kind : std::uint8_t { moved, missing, duplicate, failed };
  Kind kind = Kind::failed;
  std::int64_t number = 0;  // moved: as it is now
  std::string error;
};

class CounterDocument {
 public:
  CounterDocument(mongoc_client_t* client, const std::string& database, CounterPlace place,
                  Written written);

  // Makes the document with this number. That it is there already is none of our business.
  void make(std::int64_t number);
  // `version_key`: what mongoose puts into each document that it makes (__v: 0).
  Moved add(std::int64_t amount, bool upsert, bool version_key = false);

 private:
  struct Destroy {
    void operator()(mongoc_collection_t* object) const { mongoc_collection_destroy(object); }
  };

  const CounterPlace place_;
  const Written written_;
  const std::unique_ptr<mongoc_collection_t, Destroy> documents_;
};

void append_number(bson_t* document, const std::string& field, std::int64_t number,
                   Written written);

// A unique index, as a schema asks for it.
void make_unique(mongoc_client_t* client, const std::string& database,
                 const std::string& collection, const std::string& field);

// Housekeeping: the documents in which the field is below the number.
void remove_below(mongoc_client_t* client, const std::string& database,
                  const std::string& collection, const std::string& field, std::int64_t number);

inline constexpr std::uint32_t kDuplicateKey = 11000;

}  // namespace seqd::seeds

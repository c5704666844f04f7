// StorePlace: where a store of the configuration is. The identity of the database that is found
// there is another thing: it lies in the database itself (LeaseStore::identify()). A value; any
// thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/core/words/token.h"

namespace seqd {

struct StorePlace {
  // "mongodb db1:27017,db2:27017 rs0 shop": equal texts are the same place. No secret is in it.
  std::string text;
  // The identity, where it is known without a call.
  std::optional<Token> identity;
};

// `text` as the log keeps it: a long one is cut, and ends with a digest of the whole.
std::string place_record(const std::string& text);

}  // namespace seqd

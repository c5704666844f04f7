// What ended an authentication. The driver gives one code to all of it: a password that the server
// refused, a connection that broke in the middle, a server that is about to shut down. Only the
// first has to be repaired by a person; after the others, requests continue to wait. Pure
// functions; any thread.
#pragma once

#include <mongoc/mongoc.h>

namespace seqd {

bool is_of_authentication(const bson_error_t& error);

// Of such an error: whether it says in known words that user, password or mechanism were refused.
// Every other one may pass by itself, also one in words that are not known.
bool is_refused_authentication(const bson_error_t& error);

}  // namespace seqd

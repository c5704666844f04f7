// MongoDB's wire protocol, as far as the proxies of the tests need it: one message at a time, and
// the document in it. Functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/store/mongo/driver/mongo_values.h"

namespace seqd::testing::wire {

// Nothing: the connection has ended.
std::optional<std::string> read_message(int socket);

// The first key of a request's document; "" where it has none.
std::string command_in(const std::string& request);

Document request_in(const std::string& request);
Document reply_in(const std::string& reply);

// The same message with another document; what follows the document of a request stays.
std::string with_request(const std::string& request, const Document& document);
std::string with_reply(const std::string& reply, const Document& document);

}  // namespace seqd::testing::wire

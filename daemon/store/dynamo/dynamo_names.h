// Which names of tables and attributes, and which keys, DynamoDB allows. Pure; any thread.
#pragma once

#include <string>

#include "daemon/base/status.h"
#include "daemon/store/counter_value.h"

namespace seqd {

// Attributes that begin so are seqd's own.
inline constexpr char kDynamoOurs[] = "seqd_";
// Items whose keys begin so are those of registers, in the tables of the counters.
inline constexpr char kDynamoRegister[] = "seqd-register:";

// CONFIG when a table cannot have such a name, key or attribute.
Status check_dynamo_binding(const CounterBinding& binding);
// CONFIG when no table can be called so; `what` begins the text.
Status check_table_name(const std::string& what, const std::string& name);
// CONFIG when no attribute can be called so, or only seqd's own.
Status check_attribute_name(const std::string& what, const std::string& name);

}  // namespace seqd

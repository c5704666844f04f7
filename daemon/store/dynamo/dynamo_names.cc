#include "daemon/store/dynamo/dynamo_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/text/utf8.h"

namespace seqd {
namespace {

Status bad_name(const std::string& what, const std::string& name, const char* rule) {
  return {ErrorCode::CONFIG,
          fmt::format("DynamoDB: {} \"{}\": {}", what, name.substr(0, 300), rule)};
}

bool is_table_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

}  // namespace

Status check_table_name(const std::string& what, const std::string& name) {
  const bool good = name.size() >= 3 && name.size() <= 255 &&
                    std::all_of(name.begin(), name.end(), is_table_letter);
  if (good) return {};
  return bad_name(what, name, "allowed are 3 to 255 of A-Z a-z 0-9 _ . -");
}

Status check_attribute_name(const std::string& what, const std::string& name) {
  if (name.empty() || name.size() > 255 || !protocol::is_utf8(name))
    return bad_name(what, protocol::is_utf8(name) ? name : "?",
                    "allowed are 1 to 255 bytes of UTF-8");
  if (name.starts_with(kDynamoOurs))
    return bad_name(what, name,
                    "attributes that begin with \"seqd_\" hold seqd's own marks; use another");
  return {};
}

Status check_dynamo_binding(const CounterBinding& binding) {
  if (Status status = check_table_name("collection", binding.collection); !status.ok())
    return status;
  if (Status status = check_attribute_name("key_field", binding.key_field); !status.ok())
    return status;
  if (Status status = check_attribute_name("counter_field", binding.counter_field); !status.ok())
    return status;
  if (binding.counter_field == binding.key_field)
    return bad_name("counter_field", binding.counter_field, "must not be the key's attribute");
  if (binding.key.size() > 1024 || !protocol::is_utf8(binding.key))
    return bad_name("key", protocol::is_utf8(binding.key) ? binding.key : "?",
                    "allowed are at most 1,024 bytes of UTF-8");
  if (binding.key.starts_with(kDynamoRegister))
    return bad_name("key", binding.key,
                    "keys that begin with \"seqd-register:\" are those of registers; use another");
  return {};
}

}  // namespace seqd

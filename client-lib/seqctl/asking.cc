#include "client-lib/seqctl/asking.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "client-lib/seqctl/reports/report.h"
#include "client-lib/seqctl/timeouts.h"

namespace seqd::seqctl {

using nlohmann::json;

Answered ask(seqd_client* client, const char* method, const json& params) {
  const void* result = nullptr;
  std::size_t length = 0;
  const std::vector<std::uint8_t> packed = json::to_msgpack(params);
  const int code = seqd_call(client, method, packed.data(), packed.size(), &result, &length);
  if (code != SEQD_OK) return {code, seqd_last_error(client), {}};
  json value = from_message_pack({static_cast<const char*>(result), length});
  if (value.is_discarded())
    return {SEQD_E_PROTOCOL, "the daemon's answer holds what JSON cannot hold", {}};
  return {SEQD_OK, {}, std::move(value)};
}

Answered ping(seqd_client* client) {
  const int code = seqd_ping(client);
  return {code, code == SEQD_OK ? "" : seqd_last_error(client), {}};
}

Answered Pages::next() {
  json params = json::array();
  if (!after_.empty()) params.push_back({{"after", after_}, {"limit", kPageRows}});
  Answered page = ask(client_, "list", params);
  more_ = page.ok() && page.value.is_array() && page.value.size() >= kPageRows;
  if (!more_) return page;
  const json last = member(page.value.back(), "name");
  const bool goes_on = last.is_string() && last.get_ref<const std::string&>() > after_;
  if (!goes_on || ++pages_ >= kMostPages) {
    more_ = false;
    return {SEQD_E_PROTOCOL, "the daemon's pages of list do not come to an end", {}};
  }
  after_ = last.get<std::string>();
  return page;
}

}  // namespace seqd::seqctl

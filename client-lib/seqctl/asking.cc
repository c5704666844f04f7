#include "client-lib/seqctl/asking.h"

#include <algorithm>
#include <cstddef>
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
    return {SEQD_E_PROTOCOL, "the daemon's reply has a value that JSON cannot represent", {}};
  return {SEQD_OK, {}, std::move(value)};
}

Answered ping(seqd_client* client) {
  const int code = seqd_ping(client);
  return {code, code == SEQD_OK ? "" : seqd_last_error(client), {}};
}

Answered ask_clients(seqd_client* client) {
  json all = json::array();
  json params = json::array();
  json last = 0;
  for (std::size_t pages = 0; pages < kMostClientPages; ++pages) {
    Answered page = ask(client, "clients", params);
    if (!page.ok()) return page;
    json clients = member(page.value, "clients");
    if (!clients.is_array() || clients.size() > kPageRows) break;
    for (json& each : clients) all.push_back(std::move(each));
    if (member(page.value, "more") != json(true)) return {SEQD_OK, {}, std::move(all)};
    const json after = member(page.value, "after");
    if (!after.is_number_integer() || after <= last) break;
    last = after;
    params = json::array({{{"after", after}}});
  }
  return {SEQD_E_PROTOCOL, "the daemon's pages of clients do not end", {}};
}

namespace {

constexpr std::size_t kNamesBytes = 512;  // of a request; max_request_size is 1,024 at least
constexpr std::size_t kHeadOfText = 2;

}  // namespace

Answered ask_rights(seqd_client* client, const std::vector<std::string>& names) {
  json all;
  std::size_t begin = 0;
  do {
    // At least one, and no more than every daemon takes in a request.
    std::size_t end = begin;
    std::size_t bytes = 0;
    while (end < names.size() && end - begin < kPageRows &&
           (end == begin || bytes + names[end].size() <= kNamesBytes))
      bytes += names[end++].size() + kHeadOfText;
    json page(std::vector<std::string>(names.begin() + static_cast<std::ptrdiff_t>(begin),
                                       names.begin() + static_cast<std::ptrdiff_t>(end)));
    Answered answered = ask(client, "rights", page);
    if (!answered.ok()) return answered;
    json rows = member(answered.value, "sequences");
    if (!rows.is_array() || rows.size() != end - begin)
      return {SEQD_E_PROTOCOL, "the daemon did not return the rights of every name", {}};
    if (begin == 0) {
      all = std::move(answered.value);
    } else {
      for (json& row : rows) all["sequences"].push_back(std::move(row));
    }
    begin = end;
  } while (begin < names.size());
  return {SEQD_OK, {}, std::move(all)};
}

namespace {

constexpr const char* kEndlessConfig = "the daemon's pages of config do not end";

// All pages of one configuration; null: another one came into force between two of them.
Answered ask_config_once(seqd_client* client) {
  json all;
  json params = json::array();
  std::string last;
  for (std::size_t pages = 0; pages < kMostConfigPages; ++pages) {
    Answered page = ask(client, "config", params);
    if (!page.ok()) return page;
    json tables = member(page.value, "tables");
    if (!tables.is_array() || tables.size() > kPageRows) break;
    if (pages == 0) {
      all = {{"file", member(page.value, "file")},
             {"reloads", member(page.value, "reloads")},
             {"tables", json::array()}};
    }
    if (member(page.value, "reloads") != all["reloads"]) return {};
    for (json& each : tables) all["tables"].push_back(std::move(each));
    if (member(page.value, "more") != json(true)) return {SEQD_OK, {}, std::move(all)};
    const json after = member(page.value, "after");
    if (!after.is_string() || after.get_ref<const std::string&>() <= last) break;
    last = after.get<std::string>();
    params = json::array({{{"after", after}}});
  }
  return {SEQD_E_PROTOCOL, kEndlessConfig, {}};
}

}  // namespace

Answered ask_config(seqd_client* client) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    Answered answered = ask_config_once(client);
    if (!answered.ok() || !answered.value.is_null()) return answered;
  }
  return {SEQD_E_BUSY, "the configuration was reloaded while it was read; try again", {}};
}

Answered Pages::next() {
  json params = json::array();
  if (!after_.empty()) params.push_back({{"after", after_}, {"limit", kPageRows}});
  Answered page = ask(client_, "list", params);
  more_ = page.ok() && page.value.is_array() && page.value.size() >= kPageRows;
  if (!more_) return page;
  const json last = member(page.value.back(), "name");
  const bool goes_on = last.is_string() && last.get_ref<const std::string&>() > after_;
  if (!goes_on || ++pages_ >= kMostListPages) {
    more_ = false;
    return {SEQD_E_PROTOCOL, "the daemon's pages of list do not end", {}};
  }
  after_ = last.get<std::string>();
  return page;
}

}  // namespace seqd::seqctl

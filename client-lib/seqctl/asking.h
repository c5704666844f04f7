// Asking: methods that have no function of libseqd, with JSON for their parameters and results. The
// data of the daemon is not trusted. Blocks as long as the handle's time-outs say. One thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-lib/seqd.h"

namespace seqd::seqctl {

struct Answered {
  int code = SEQD_OK;  // SEQD_E_PROTOCOL: also what JSON cannot hold
  std::string error;   // the text of it
  nlohmann::json value;

  bool ok() const { return code == SEQD_OK; }
};

Answered ask(seqd_client* client, const char* method,
             const nlohmann::json& params = nlohmann::json::array());
Answered ping(seqd_client* client);

// All pages of `clients` as one array. A daemon whose pages do not advance, or are too long, is an
// error.
Answered ask_clients(seqd_client* client);

// What `rights` says of these names, in as many pages as the daemon takes.
Answered ask_rights(seqd_client* client, const std::vector<std::string>& names);

// All pages of `config` as one object: {"file", "reloads", "tables"}. SEQD_E_BUSY: reloads between
// the pages changed the configuration in each attempt. Otherwise as ask_clients().
Answered ask_config(seqd_client* client);

// Pages of `list`, one after the other, kMostListPages at most. One thread.
class Pages {
 public:
  explicit Pages(seqd_client* client) : client_(client) {}

  // The next page; only while more(). A daemon whose pages do not advance is an error, so this
  // ends.
  Answered next();
  bool more() const { return more_; }

 private:
  seqd_client* client_;
  std::string after_;  // the last name
  std::size_t pages_ = 0;
  bool more_ = true;
};

}  // namespace seqd::seqctl

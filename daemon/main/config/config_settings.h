// What the configuration says outside the sequences, as plain structs that the wiring reads. Each
// field is one option of options.def, in checked form; the defaults are there and nowhere else.
// Values; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/core/words/user_list.h"
#include "daemon/state/start_rules.h"
#include "daemon/store/lease_trace.h"

namespace seqd {

// The order is that of the choices in options.def; so is AfterPowerLoss's and LeaseModeOption's.
enum class StoreType : std::uint8_t { sqlite, mongodb, dynamodb };

// [daemon]
struct DaemonSettings {
  std::string socket;
  std::int64_t socket_mode = 0;
  UserListSettings admins;
  std::string state_dir;
  std::string witness_dir;
  AfterPowerLoss after_power_loss = AfterPowerLoss::forfeit;
  std::int64_t state_log_size = 0;  // bytes
  std::int64_t stop_timeout_ms = 0;
  std::int64_t busy_poll_ms = 0;  // 0: not at all
  bool history = true;
  bool history_callers = true;
  std::int64_t history_max_size = 0;  // bytes
  std::int64_t history_max_age_ms = 0;
  std::int64_t store_poll_interval_ms = 0;
  std::string metrics_socket;  // empty: none, as metrics_address
  std::int64_t metrics_socket_mode = 0;
  std::string metrics_address;
  std::int64_t metrics_sequences = 0;
  bool allow_unlisted = false;  // names without a table may be used
  std::string default_store;    // never empty once loaded
  bool operator==(const DaemonSettings&) const = default;
};

// [limits]
struct Limits {
  std::int64_t max_request_size = 0;  // bytes
  std::int64_t max_count = 0;
  std::int64_t max_requests_in_flight = 0;
  std::int64_t max_connections = 0;
  std::int64_t max_reply_backlog = 0;  // bytes
  std::int64_t max_sequences = 0;
  std::int64_t max_retry_clients = 0;
  std::int64_t retry_memory_ms = 0;
  std::int64_t frame_timeout_ms = 0;
  std::int64_t idle_timeout_ms = 0;  // 0: for ever
  bool operator==(const Limits&) const = default;
};

// [store.NAME]
struct StoreSettings {
  StoreType type = StoreType::sqlite;
  std::string path;  // sqlite: never empty once loaded
  // mongodb: never empty once loaded, wherever it came from. A secret: not to be printed or sent
  // anywhere but to the driver.
  std::string uri;
  std::string uri_file;
  std::string database;
  std::int64_t timeout_ms = 0;
  std::int64_t concurrency = 0;
  LeaseModeOption lease_mode = LeaseModeOption::automatic;
  bool unsafe_write_concern = false;
  // dynamodb, from here on.
  bool unsafe_global_table = false;
  std::string region;  // wherever it came from
  std::string endpoint;
  std::string tls_ca_file;
  std::string instances_table;
  std::string instances_key;
  // Where the credentials are; empty: where Amazon's own tools look. They are read when they are
  // needed.
  std::string aws_credentials_file;
  std::string aws_profile;
  bool operator==(const StoreSettings&) const = default;
};

}  // namespace seqd

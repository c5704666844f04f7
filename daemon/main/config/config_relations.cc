#include "daemon/main/config/config_relations.h"

#include <algorithm>

#include "daemon/core/log/state_bounds.h"
#include "daemon/main/config/sequences/config_patterns.h"
#include "daemon/uv/loopback_address.h"

namespace seqd {
namespace {

struct Bounded {
  std::string_view key;
  std::int64_t& value;
};

// lower <= upper must hold.
void keep_below(const std::string& table, Bounded lower, Bounded upper, const WrittenKeys& written,
                Problems& problems) {
  if (lower.value <= upper.value) return;
  const auto line = written.find(lower.key);
  if (line == written.end()) {
    lower.value = upper.value;
    return;
  }
  const std::string text = "found " + std::to_string(lower.value) + "; must not be above " +
                           std::string(upper.key) + " = " + std::to_string(upper.value) + " (" +
                           where_written(written, upper.key) + ")";
  problems.add(line->second, table + "." + std::string(lower.key), text);
}

// Whether `inner` is `outer` or lies within it. Textual: the directories may not exist yet.
bool within(const std::string& inner, const std::string& outer) {
  const auto with_slash = [](std::string path) {
    while (path.ends_with('/')) path.pop_back();
    return path.append("/");
  };
  return with_slash(inner).starts_with(with_slash(outer));
}

void check_field(const std::string& table, std::string_view key, const std::string& field,
                 const WrittenKeys& written, Problems& problems) {
  const bool plain = !field.starts_with('$') && field.find('.') == std::string::npos;
  if (!plain)
    problems.add(line_of(written, key), table + "." + std::string(key),
                 "found \"" + field +
                     "\"; allowed: the name of a field, without \".\" and not "
                     "beginning with \"$\"");
}

}  // namespace

bool are_nested(const std::string& one, const std::string& other) {
  return within(one, other) || within(other, one);
}

void relate_daemon(const DaemonSettings& daemon, const WrittenKeys& written, Problems& problems) {
  const std::string why = "; allowed: a directory apart from state_dir (" +
                          where_written(written, "state_dir") +
                          "): a copy of state_dir must not include its witness, and a reboot must "
                          "clear only the witness";
  // One that is not given is found apart from the state.
  if (!daemon.witness_dir.empty() && are_nested(daemon.witness_dir, daemon.state_dir))
    problems.add(std::max(line_of(written, "witness_dir"), line_of(written, "state_dir")),
                 "daemon.witness_dir", "found \"" + daemon.witness_dir + "\"" + why);
  if (daemon.metrics_socket == daemon.socket)
    problems.add(line_of(written, "metrics_socket"), "daemon.metrics_socket",
                 "found \"" + daemon.metrics_socket + "\", which is socket, too (" +
                     where_written(written, "socket") + "); allowed: another path");
  if (daemon.metrics_address.empty()) return;
  const Status loopback = parse_loopback(daemon.metrics_address).status();
  if (!loopback.ok())
    problems.add(line_of(written, "metrics_address"), "daemon.metrics_address", loopback.text());
}

namespace {

// `value` needs a log of so many bytes.
void keep_within_log(Bounded limit, std::int64_t needed, std::int64_t fitting,
                     const DaemonSettings& daemon, const WrittenKeys& written,
                     const WrittenKeys& daemon_written, Problems& problems) {
  if (limit.value <= fitting) return;
  const auto line = written.find(limit.key);
  if (line == written.end()) {
    limit.value = fitting;
    return;
  }
  const bool given = daemon_written.contains("state_log_size");
  problems.add(line->second, "limits." + std::string(limit.key),
               "found " + std::to_string(limit.value) + ", which needs a state_log_size of " +
                   std::to_string((needed + 1'023) / 1'024) + "KiB; daemon.state_log_size is " +
                   std::to_string(daemon.state_log_size / 1'024) + "KiB (" +
                   (given ? where_written(daemon_written, "state_log_size") : "the default") +
                   "), enough for " + std::to_string(fitting));
}

}  // namespace

void relate_log_size(Limits& limits, const DaemonSettings& daemon, const WrittenKeys& written,
                     const WrittenKeys& daemon_written, Problems& problems) {
  const StateBounds bounds(static_cast<std::uint64_t>(daemon.state_log_size));
  keep_within_log({"max_sequences", limits.max_sequences},
                  StateBounds::log_size_for_sequences(limits.max_sequences),
                  bounds.sequence_bytes() / StateBounds::kTypicalSequenceBytes, daemon, written,
                  daemon_written, problems);
  keep_within_log({"max_retry_clients", limits.max_retry_clients},
                  StateBounds::log_size_for_clients(limits.max_retry_clients),
                  static_cast<std::int64_t>(bounds.clients()), daemon, written, daemon_written,
                  problems);
}

void relate_sequence(const std::string& table, SequenceSettings& sequence,
                     const WrittenKeys& written, Problems& problems) {
  const Bounded max_available{"max_available", sequence.max_available};
  const Bounded lease_max{"lease_max", sequence.lease_max};
  // From the widest bound inwards: each may lower the next.
  keep_below(table, lease_max, max_available, written, problems);
  keep_below(table, {"max_unsynced", sequence.max_unsynced}, max_available, written, problems);
  keep_below(table, {"lease_min", sequence.lease_min}, lease_max, written, problems);
  if (sequence.binding.first_id > sequence.max_value) {
    const bool first = written.contains("first_id") || !written.contains("max_value");
    const std::string_view key = first ? "first_id" : "max_value";
    problems.add(line_of(written, key), table + "." + std::string(key),
                 "first_id = " + std::to_string(sequence.binding.first_id) + " (" +
                     where_written(written, "first_id") +
                     ") must not be above max_value = " + std::to_string(sequence.max_value) +
                     " (" + where_written(written, "max_value") + ")");
  }
  check_field(table, "key_field", sequence.binding.key_field, written, problems);
  check_field(table, "counter_field", sequence.binding.counter_field, written, problems);
  if (sequence.binding.key_field == sequence.binding.counter_field)
    problems.add(std::max(line_of(written, "key_field"), line_of(written, "counter_field")), table,
                 "key_field and counter_field are both \"" + sequence.binding.key_field +
                     "\"; allowed: two different fields");
}

namespace {

// What says something of a counter, or of leases from it.
constexpr const char* kOfLeases[] = {"key",
                                     "key_type",
                                     "meaning",
                                     "create_counter",
                                     "create_index",
                                     "reuse",
                                     "start",
                                     "increment",
                                     "min",
                                     "max",
                                     "cycle",
                                     "blocks",
                                     "lease_min",
                                     "lease_max",
                                     "lease_duration",
                                     "max_available",
                                     "max_unsynced",
                                     "seed_field",
                                     "period_retention",
                                     "seed_collection"};

void relate_register(const std::string& table, const WrittenKeys& written, Problems& problems) {
  // Any user may begin names that are in no table, and a register stays for ever.
  if (is_pattern(table) || table == "sequence_defaults") {
    problems.add(line_of(written, "mode"), table + ".mode",
                 "found \"register\" for more than one name; allowed: in a table with the "
                 "register's name");
  }
  for (const char* key : kOfLeases) {
    if (!written.contains(key)) continue;
    problems.add(line_of(written, key), table + "." + key,
                 "has no meaning with mode = \"register\", which leases nothing; leave it out");
  }
}

void relate_insert(const std::string& table, const SequenceSettings& sequence, StoreType store,
                   const WrittenKeys& written, Problems& problems) {
  const int line = line_of(written, "mode");
  if (store != StoreType::mongodb) {
    problems.add(line, table + ".mode",
                 "found \"insert\", and the store \"" + sequence.store +
                     "\" is not of type mongodb; allowed: a mongodb store, or \"lease\"");
  }
  // The default is a collection of counters, which documents would spoil.
  if (sequence.binding.collection == CounterBinding().collection &&
      !written.contains("collection")) {
    problems.add(line, table + ".mode",
                 "found \"insert\" without a collection; allowed: together with collection, "
                 "the one that gets the documents");
  }
  for (const char* key : {"key", "key_field", "counter_field", "meaning", "reuse", "start",
                          "seed_collection", "seed_field", "increment", "min", "max", "cycle"}) {
    if (!written.contains(key)) continue;
    problems.add(line_of(written, key), table + "." + key,
                 "has no meaning with mode = \"insert\", which has no counter; leave it out");
  }
}

}  // namespace

bool is_of_leases(std::string_view key) {
  return std::ranges::find(kOfLeases, key, [](const char* each) {
           return std::string_view(each);
         }) != std::end(kOfLeases);
}

void relate_mode(const std::string& table, const SequenceSettings& sequence, StoreType store,
                 const WrittenKeys& written, Problems& problems) {
  switch (sequence.mode) {
    case SequenceMode::lease:
      break;
    case SequenceMode::insert:
      relate_insert(table, sequence, store, written, problems);
      break;
    case SequenceMode::registers:
      relate_register(table, written, problems);
      break;
  }
  const bool refills = written.contains("refill") && sequence.refill.when != Refill::never;
  if (refills && sequence.mode != SequenceMode::registers) {
    problems.add(line_of(written, "refill"), table + ".refill",
                 "found without mode = \"register\"; allowed: for a register");
  }
}

}  // namespace seqd

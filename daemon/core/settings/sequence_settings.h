// The configuration of one sequence, as the core reads it. Values are checked where the
// configuration is read (daemon/main/config/options/options.h holds their bounds); here they are
// taken as they are.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/core/settings/id_progression.h"
#include "daemon/core/text/period.h"
#include "daemon/core/words/counter_binding.h"
#include "daemon/core/words/refill.h"
#include "daemon/core/words/reuse.h"
#include "daemon/core/words/user_list.h"

namespace seqd {

class IdFormat;

// How the IDs are written as text.
struct IdFormatSettings {
  std::string format = "{number}";
  std::string time_zone = "UTC";
  std::string scramble_key_file = "scramble-key";
  // What was made of these; null: a text can be neither written nor read.
  std::shared_ptr<const IdFormat> compiled;

  bool operator==(const IdFormatSettings& other) const {
    return format == other.format && time_zone == other.time_zone &&
           scramble_key_file == other.scramble_key_file;
  }
  auto operator<=>(const IdFormatSettings&) const = default;
};

// What a sequence does: it leases ranges and issues IDs; it inserts documents into a collection and
// gives each the next _id (daemon/core/insert/insert_queues.h); or it is a register, whose numbers
// belong to keys (daemon/core/registers/registers.h).
enum class SequenceMode : std::uint8_t { lease, insert, registers };

// In which periods the sequence starts again, each with a counter of its own.
struct PeriodSettings {
  std::string period;          // as PeriodRule::make() takes it; empty: none
  std::int64_t retain_ms = 0;  // how long the counter of a period that is over is kept; 0: for ever
  // What was made of these; null: no periods.
  std::shared_ptr<const PeriodRule> rule;
  // In the settings of "NAME@PERIOD": which period.
  std::optional<Period> current;

  bool operator==(const PeriodSettings& other) const {
    return period == other.period && retain_ms == other.retain_ms;
  }
  auto operator<=>(const PeriodSettings&) const = default;
};

// Of a register: what becomes of numbers that are cancelled.
struct RefillSettings {
  Refill when = Refill::never;
  std::shared_ptr<const PeriodRule> day;  // what was made of it for Refill::day; else null

  bool operator==(const RefillSettings& other) const { return when == other.when; }
  auto operator<=>(const RefillSettings&) const = default;
};

// The part of a limit for sequences that a pattern or `daemon.allow_unlisted` creates: any user may
// create those, and only administrators remove them. The rest is kept for sequences with a table of
// their own.
template <typename Number>
constexpr Number share_of_unnamed(Number limit) {
  return limit - limit / 4;
}

struct SequenceSettings {
  SequenceMode mode = SequenceMode::lease;
  bool named = true;              // by a table of its own; see share_of_unnamed()
  std::string store = "default";  // name of a [store.NAME] table
  CounterBinding
      binding;  // `key` is filled in with the sequence's name where the configuration has none

  std::int64_t lease_min = 10;              // IDs a lease, at least
  std::int64_t lease_max = 1'000'000;       // IDs a lease, at most
  std::int64_t lease_duration_ms = 10'000;  // how long one lease should last at the present rate
  std::int64_t max_available =
      2'000'000;  // IDs available and being leased, at most: what the worst disaster can lose
  std::int64_t max_unsynced =
      100'000;  // IDs that may be issued between two flushes: what a power loss can cost
  std::int64_t max_value = (std::int64_t{1} << 53) - 1;  // the highest ID ever issued

  Reuse reuse = Reuse::never;  // what becomes of ranges that are drained

  bool blocks = false;  // whether clients may take IDs in their own processes

  std::int64_t wait_timeout_ms = 5'000;  // how long a request waits for an ID when it does not say
  std::int64_t max_waiters = 10'000;     // requests waiting at a time; a user has a share

  IdFormatSettings text;
  ProgressionSettings progression;
  PeriodSettings periods;
  RefillSettings refill;
  AccessSettings access;

  // The highest ordinal that may be leased: of a sequence without a progression, the highest ID.
  std::int64_t last_ordinal() const {
    return progression.compiled == nullptr ? max_value : progression.compiled->ordinals();
  }

  // Whether the options are alike.
  bool operator==(const SequenceSettings&) const = default;
  // An order of the options and of what was made of them.
  auto operator<=>(const SequenceSettings&) const = default;
};

// The error of requests that are for sequences which lease, of one in another mode.
inline Status leases_nothing(std::string_view name, SequenceMode mode) {
  const bool inserts = mode == SequenceMode::insert;
  return {ErrorCode::WRONG_MODE,
          "\"" + std::string(name) + "\" " +
              (inserts ? "inserts documents (mode = \"insert\"): it issues, leases and keeps "
                         "nothing of its own; send it a document with insert"
                       : "is a register (mode = \"register\"): its numbers belong to keys; take "
                         "one with assign")};
}

// Finds the settings of a sequence by name, exact or by pattern. Loop thread; a result is valid
// until the configuration is reloaded, or many other names were looked up: Configuration::find.
class SettingsSource {
 public:
  virtual ~SettingsSource() = default;
  // Null when the name is neither configured nor may be created. Of a name with a period,
  // "NAME@PERIOD": the settings of NAME with the counter of that period.
  virtual const SequenceSettings* find(const std::string& name) const = 0;
  // The format of a name of which no ID was requested yet; null: none.
  virtual std::shared_ptr<const IdFormat> find_format(std::string_view name) const = 0;
  // Who may take IDs of that name; null where find() gives nothing. Keeps nothing about the name.
  virtual const AccessSettings* find_access(std::string_view name) const = 0;
};

}  // namespace seqd

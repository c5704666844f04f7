// IdFormat: everything that makes text out of the IDs of a sequence: the template, the time zone of
// its date parts and the key of its scramble. Made by the configuration, replaced by a reload.
// Immutable but for a cache: loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/text/scramble.h"
#include "daemon/base/time/calendar.h"
#include "daemon/core/text/id_text.h"
#include "daemon/core/text/period.h"

namespace seqd {

// The keys of a scramble by their numbers, 1 to 9, or one key without a number as 0. Numbers are
// scrambled with the highest.
using IdKeys = std::map<int, std::shared_ptr<const BlockCipher>>;

class IdFormat {
 public:
  // `zone` null: UTC. There is a key if the template scrambles; none otherwise or unused, and
  // numbered ones only if the template has the key.
  IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone, IdKeys keys);
  IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone,
           std::shared_ptr<const BlockCipher> key);

  // For a sequence with periods, before the first use: each has a scramble of its own.
  void set_periods(std::shared_ptr<const PeriodRule> rule) { rule_ = std::move(rule); }

  // The text of an ID of the sequence `name` (with its period, if it has one) that was issued at
  // the second `wall_s` (UTC, since 1970). The name is the scramble's tweak, so that one key serves
  // many sequences, and the IDs of two periods have nothing in common.
  std::string write(const std::string& name, std::int64_t number, std::int64_t wall_s) const;
  // `name` without a period: the text contains it.
  Result<ParsedId> read(const std::string& name, std::string_view text) const;
  CheckKind check() const { return form_.check; }
  bool has_date() const;
  // Whether both scramble with the same key, or neither does.
  bool has_key_of(const IdFormat& other) const { return key_mark() == other.key_mark(); }
  // The number of the key that scrambles and eight digits that distinguish it from other keys,
  // "1:0a1b2c3d"; "-" without a scramble.
  std::string key_mark() const;

 private:
  std::int64_t local(std::int64_t wall_s) const;
  std::optional<Scramble> scramble_for(const std::string& base, std::string_view period,
                                       int key) const;
  int newest_key() const { return keys_.empty() ? 0 : keys_.rbegin()->first; }

  const IdTemplate form_;
  const std::shared_ptr<const TimeZone> zone_;
  const IdKeys keys_;
  std::shared_ptr<const PeriodRule> rule_;
  mutable UtcOffset offset_;  // the last one used, valid until its end
};

}  // namespace seqd

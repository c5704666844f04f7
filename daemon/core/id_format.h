// IdFormat: everything that makes text out of the IDs of a sequence: the template, the time zone of
// its date parts and the key of its scramble. Made by the configuration, replaced by a reload.
// Immutable but for a cache: loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/base/calendar.h"
#include "daemon/base/scramble.h"
#include "daemon/core/id_text.h"

namespace seqd {

class IdFormat {
 public:
  // `zone` null: UTC. `key` is not null if the template scrambles; null otherwise or unused.
  IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone,
           std::shared_ptr<const BlockCipher> key);

  // The text of an ID of the sequence `name` that was issued at the second `wall_s` (UTC, since
  // 1970). The name is the scramble's tweak: one key serves many sequences.
  std::string write(const std::string& name, std::int64_t number, std::int64_t wall_s) const;
  Result<ParsedId> read(const std::string& name, std::string_view text) const;
  CheckKind check() const { return form_.check; }
  // Whether both scramble with the same key, or neither does.
  bool has_key_of(const IdFormat& other) const;

 private:
  std::int64_t local(std::int64_t wall_s) const;

  const IdTemplate form_;
  const std::shared_ptr<const TimeZone> zone_;
  const std::shared_ptr<const BlockCipher> key_;
  mutable UtcOffset offset_;  // the last one asked for, good until its end
};

}  // namespace seqd

#include "daemon/core/id_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/check.h"

namespace seqd {
namespace {

std::optional<Scramble> scramble_for(const IdTemplate& form, const BlockCipher* key,
                                     const std::string& name) {
  if (!form.scramble) return std::nullopt;
  return std::optional<Scramble>(std::in_place, *key, name);
}

}  // namespace

IdFormat::IdFormat(IdTemplate form, std::shared_ptr<const TimeZone> zone,
                   std::shared_ptr<const BlockCipher> key)
    : form_(std::move(form)), zone_(std::move(zone)), key_(std::move(key)) {
  CHECK(!form_.scramble || key_ != nullptr);
}

bool IdFormat::has_key_of(const IdFormat& other) const {
  if (!form_.scramble || !other.form_.scramble) return form_.scramble == other.form_.scramble;
  CipherBlock ours{};
  CipherBlock others{};
  key_->encrypt(ours);
  other.key_->encrypt(others);
  return ours == others;
}

std::int64_t IdFormat::local(std::int64_t wall_s) const {
  if (zone_ == nullptr) return wall_s;
  wall_s = std::clamp<std::int64_t>(wall_s, 0, kLastSecond);
  if (wall_s < offset_.begin_s || wall_s >= offset_.end_s) offset_ = zone_->offset_at(wall_s);
  return wall_s + offset_.offset_s;
}

std::string IdFormat::write(const std::string& name, std::int64_t number,
                            std::int64_t wall_s) const {
  const std::optional<Scramble> scramble = scramble_for(form_, key_.get(), name);
  return write_id(form_, number, civil_time(local(wall_s)), scramble ? &*scramble : nullptr);
}

Result<ParsedId> IdFormat::read(const std::string& name, std::string_view text) const {
  const std::optional<Scramble> scramble = scramble_for(form_, key_.get(), name);
  return read_id(form_, text, scramble ? &*scramble : nullptr);
}

}  // namespace seqd

#include "daemon/store/mongo/driver/bson_conversion.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "protocol/text/utf8.h"
#include "protocol/values/value_header.h"
#include "protocol/values/value_reader.h"

namespace seqd {
namespace {

using protocol::Extension;
using protocol::ValueKind;
using protocol::ValueReader;

constexpr std::int8_t kTimestamp = -1;
constexpr std::uint32_t kNanosecondsOfMillisecond = 1'000'000;
constexpr std::uint32_t kMostNanoseconds = 999'999'999;
// Of the document's frame, 5, and of _id as int64, 13.
constexpr std::size_t kFrameBytes = 18;
constexpr std::size_t kShownName = 40;

struct Instant {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
};

// The three forms of MessagePack's timestamp.
std::optional<Instant> read_instant(const Extension& extension) {
  const std::uint8_t* const at = extension.bytes.data();
  using protocol::load_big_endian;
  switch (extension.bytes.size()) {
    case 4:
      return Instant{load_big_endian<std::uint32_t>(at), 0};
    case 8: {
      const auto both = load_big_endian<std::uint64_t>(at);
      return Instant{static_cast<std::int64_t>(both & 0x3'ffff'ffffULL),
                     static_cast<std::uint32_t>(both >> 34)};
    }
    case 12:
      return Instant{static_cast<std::int64_t>(load_big_endian<std::uint64_t>(at + 4)),
                     load_big_endian<std::uint32_t>(at)};
    default:
      return std::nullopt;
  }
}

// A name, which may have any bytes, as a part of an error's text.
std::string shown(std::string_view name) {
  std::string out(name.substr(0, kShownName));
  if (name.size() > kShownName) out += "...";
  return out;
}

class Conversion {
 public:
  // The pairs of a map that lie behind its header.
  Status append_pairs(bson_t* out, ValueReader& reader, std::uint32_t pairs, bool top) {
    std::unordered_set<std::string_view> seen;
    for (std::uint32_t at = 0; at < pairs; ++at) {
      if (reader.kind() != ValueKind::string) return refused("holds a key that is not a text");
      const std::optional<std::string_view> key = reader.read_text();
      if (!key) return cut_short();
      const std::size_t outside = path_.size();
      if (!path_.empty()) path_ += '.';
      path_ += shown(*key);
      if (key->find('\0') != std::string_view::npos) return refused("has a zero byte in its name");
      if (!protocol::is_utf8(*key)) return refused("has a name that is not UTF-8");
      if (!seen.insert(*key).second) return refused("comes twice");
      if (top && *key == "_id") return refused("is assigned by the daemon; leave it out");
      if (Status status = append(out, *key, reader); !status.ok()) return status;
      path_.resize(outside);
    }
    return {};
  }

 private:
  Status refused(const std::string& why) const {
    const std::string what =
        path_.empty() ? std::string("the document") : "the field \"" + path_ + "\"";
    return {ErrorCode::DOCUMENT_REFUSED, what + " " + why};
  }
  Status cut_short() const { return refused("is cut short"); }

  // Whether there is room for an element of this name and size. Counted before it is written, so
  // that small values of MessagePack do not grow without bound.
  Status take(std::string_view key, std::size_t payload) {
    bytes_ += 1 + key.size() + 1 + payload;
    if (bytes_ + kFrameBytes <= kMostBsonBytes) return {};
    return {ErrorCode::DOCUMENT_REFUSED,
            "the document is above 16 MiB as BSON, which is the store's limit"};
  }

  Status append(bson_t* out, std::string_view key, ValueReader& reader) {
    const char* const name = key.data();
    const auto length = static_cast<int>(key.size());
    switch (reader.kind()) {
      case ValueKind::nil:
        if (Status status = take(key, 0); !status.ok()) return status;
        ASSERT(reader.read_nil() && bson_append_null(out, name, length));
        return {};
      case ValueKind::boolean: {
        if (Status status = take(key, 1); !status.ok()) return status;
        ASSERT(bson_append_bool(out, name, length, reader.read_bool().value_or(false)));
        return {};
      }
      case ValueKind::integer:
        return append_integer(out, key, reader);
      case ValueKind::floating: {
        const std::optional<double> number = reader.read_float();
        if (!number) return cut_short();
        if (Status status = take(key, 8); !status.ok()) return status;
        ASSERT(bson_append_double(out, name, length, *number));
        return {};
      }
      case ValueKind::string:
      case ValueKind::binary:
        return append_bytes(out, key, reader);
      case ValueKind::extension:
        return append_date(out, key, reader);
      case ValueKind::array:
      case ValueKind::map:
        return append_container(out, key, reader);
      case ValueKind::end:
        return cut_short();
      case ValueKind::invalid:
        break;
    }
    return refused("is not a value of MessagePack");
  }

  Status append_integer(bson_t* out, std::string_view key, ValueReader& reader) {
    ValueReader behind = reader;
    if (!behind.skip()) return cut_short();
    const std::optional<std::int64_t> number = reader.read_integer();
    if (!number)
      return refused("is an integer above 2^63-1, which BSON cannot hold; send it as a text");
    const auto length = static_cast<int>(key.size());
    const bool narrow = *number >= std::numeric_limits<std::int32_t>::min() &&
                        *number <= std::numeric_limits<std::int32_t>::max();
    if (Status status = take(key, narrow ? 4 : 8); !status.ok()) return status;
    ASSERT(narrow ? bson_append_int32(out, key.data(), length, static_cast<std::int32_t>(*number))
                  : bson_append_int64(out, key.data(), length, *number));
    return {};
  }

  Status append_bytes(bson_t* out, std::string_view key, ValueReader& reader) {
    const bool binary = reader.kind() == ValueKind::binary;
    const std::optional<std::string_view> bytes = reader.read_text();
    if (!bytes) return cut_short();
    if (!binary && !protocol::is_utf8(*bytes))
      return refused("is a text that is not UTF-8; send bytes as bin");
    if (Status status = take(key, 5 + bytes->size()); !status.ok()) return status;
    const auto length = static_cast<int>(key.size());
    const auto size = static_cast<std::uint32_t>(bytes->size());
    ASSERT(binary
               ? bson_append_binary(out, key.data(), length, BSON_SUBTYPE_BINARY,
                                    reinterpret_cast<const std::uint8_t*>(bytes->data()), size)
               : bson_append_utf8(out, key.data(), length, bytes->data(), static_cast<int>(size)));
    return {};
  }

  Status append_date(bson_t* out, std::string_view key, ValueReader& reader) {
    const std::optional<Extension> extension = reader.read_extension();
    if (!extension) return cut_short();
    if (extension->type != kTimestamp) {
      return refused(fmt::format(
          "is of the extension type {}; only the timestamp (-1) has a counterpart in BSON",
          extension->type));
    }
    const std::optional<Instant> instant = read_instant(*extension);
    if (!instant || instant->nanoseconds > kMostNanoseconds)
      return refused("is not a timestamp of MessagePack");
    if (instant->nanoseconds % kNanosecondsOfMillisecond != 0)
      return refused("is a timestamp finer than milliseconds, which a BSON date cannot hold");
    std::int64_t milliseconds = 0;
    const std::int64_t part = instant->nanoseconds / kNanosecondsOfMillisecond;
    if (__builtin_mul_overflow(instant->seconds, std::int64_t{1000}, &milliseconds) ||
        __builtin_add_overflow(milliseconds, part, &milliseconds)) {
      return refused("is a timestamp beyond what a BSON date can hold");
    }
    if (Status status = take(key, 8); !status.ok()) return status;
    ASSERT(bson_append_date_time(out, key.data(), static_cast<int>(key.size()), milliseconds));
    return {};
  }

  Status append_container(bson_t* out, std::string_view key, ValueReader& reader) {
    if (levels_ >= kMostBsonLevels)
      return refused(fmt::format("lies deeper than {} levels", kMostBsonLevels));
    if (Status status = take(key, 5); !status.ok()) return status;
    const auto length = static_cast<int>(key.size());
    bson_t inner;
    ++levels_;
    Status status;
    if (reader.kind() == ValueKind::map) {
      const std::optional<std::uint32_t> pairs = reader.read_map();
      if (!pairs) return cut_short();
      ASSERT(bson_append_document_begin(out, key.data(), length, &inner));
      status = append_pairs(&inner, reader, *pairs, false);
      ASSERT(bson_append_document_end(out, &inner));
    } else {
      const std::optional<std::uint32_t> items = reader.read_array();
      if (!items) return cut_short();
      ASSERT(bson_append_array_begin(out, key.data(), length, &inner));
      status = append_items(&inner, reader, *items);
      ASSERT(bson_append_array_end(out, &inner));
    }
    --levels_;
    return status;
  }

  Status append_items(bson_t* out, ValueReader& reader, std::uint32_t items) {
    for (std::uint32_t at = 0; at < items; ++at) {
      const std::string key = std::to_string(at);
      const std::size_t outside = path_.size();
      path_ += '.';
      path_ += key;
      if (Status status = append(out, key, reader); !status.ok()) return status;
      path_.resize(outside);
    }
    return {};
  }

  std::string path_;  // of the field that is being converted: "customer.addresses.0.street"
  std::size_t bytes_ = 0;
  std::size_t levels_ = 0;
};

}  // namespace

Result<Document> bson_of_map(std::string_view bytes) {
  ValueReader reader({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  const std::optional<std::uint32_t> pairs = reader.read_map();
  if (!pairs) return Status(ErrorCode::DOCUMENT_REFUSED, "the document is not a map");
  Document out;
  if (Status status = Conversion().append_pairs(out.get(), reader, *pairs, true); !status.ok())
    return status;
  if (!reader.at_end())
    return Status(ErrorCode::DOCUMENT_REFUSED, "the document has bytes behind its end");
  return out;
}

}  // namespace seqd

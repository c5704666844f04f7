// The pieces that results on the wire are made of, where the methods do not write them whole: see
// protocol/replies.h for those. A std::optional without a value is nil. Pure.
#pragma once

#include <msgpack.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/buffer.h"
#include "protocol/text/plain_text.h"

namespace seqd {

using Packer = msgpack::packer<protocol::Buffer>;

// Key and value of a map.
template <typename Value>
void pack_pair(Packer& packer, std::string_view key, const Value& value) {
  packer.pack(key);
  packer.pack(value);
}

inline void pack_nil(Packer& packer, std::string_view key) {
  packer.pack(key);
  packer.pack_nil();
}

// Nil for an empty text: there is none.
inline void pack_text(Packer& packer, std::string_view key, std::string_view text) {
  if (text.empty()) return pack_nil(packer, key);
  pack_pair(packer, key, text);
}

// The same for text of a store, a file or the system, which may hold any bytes: as in the text of
// an error reply, control characters and bytes that are not UTF-8 become '?'.
inline void pack_said(Packer& packer, std::string_view key, std::string_view text) {
  std::string plain(text.size(), '\0');
  plain.resize(protocol::write_plain_text(text, plain.data(), plain.size()));
  pack_text(packer, key, plain);
}

}  // namespace seqd

// The pieces that results on the wire are made of, where the methods do not write them whole: see
// protocol/replies.h for those. A std::optional without a value is nil. Pure.
#pragma once

#include <msgpack.hpp>
#include <optional>
#include <string_view>

#include "protocol/buffer.h"

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

}  // namespace seqd

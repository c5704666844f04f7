// Aes: the block cipher AES-128 or AES-256 of Nettle, with a key that is written as hexadecimal
// digits. One thread.
#pragma once

#include <memory>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/base/text/scramble.h"

namespace seqd {

// `key`: 32 or 64 hexadecimal digits. CONFIG when it is something else; the text holds none of it.
Result<std::shared_ptr<const BlockCipher>> make_aes(std::string_view key);

}  // namespace seqd

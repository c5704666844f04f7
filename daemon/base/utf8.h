// UTF-8 as Unicode defines it: no longer form than needed, no surrogates, nothing above U+10FFFF.
// Zero bytes are characters like others. Pure function: any thread.
#pragma once

#include <string_view>

namespace seqd {

bool is_utf8(std::string_view text);

}  // namespace seqd

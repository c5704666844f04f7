// The document that `seqctl insert` sends, as MessagePack. JSON's integers become integers, its
// other numbers doubles; the order of the fields stays. Nothing is guessed: an integer that 64 bits
// do not hold and a field that comes twice are errors, and a date has to come as MessagePack.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace seqd::seqctl {

// The MessagePack of a JSON object; nothing, and why, when it is none.
std::optional<std::string> message_pack_of_json(std::string_view json, std::string& error);

// The document of the command: `given`, or what is on standard input when that is empty.
std::optional<std::string> insert_document(const std::string& given, bool message_pack,
                                           std::string& error);

}  // namespace seqd::seqctl

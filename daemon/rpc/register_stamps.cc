#include "daemon/rpc/register_stamps.h"

#include <charconv>
#include <string_view>

namespace seqd {

std::string stamp_of(const MethodContext& context, const Session& session) {
  if (context.registers == nullptr) return "";
  return context.registers->host() + ":" + std::to_string(session.peer.uid) + ":" +
         std::to_string(session.peer.pid);
}

bool is_of(const Stamp& stamp, UserId user) {
  const std::string_view by = stamp.by;
  const std::size_t end = by.rfind(':');
  if (end == by.npos || end == 0) return false;
  const std::size_t begin = by.rfind(':', end - 1);
  if (begin == by.npos) return false;
  UserId found = 0;
  const auto [last, error] = std::from_chars(by.data() + begin + 1, by.data() + end, found);
  return error == std::errc() && last == by.data() + end && found == user;
}

}  // namespace seqd

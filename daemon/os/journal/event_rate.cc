#include "daemon/os/journal/event_rate.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// What a busy or a hostile client, or a store that is away, can make happen many times a second.
constexpr std::array kRepeating = {EventKind::lease_granted, EventKind::lease_failed,
                                   EventKind::client_dropped, EventKind::limit_reached,
                                   EventKind::state_warning};

// All that an event is about: what one user causes must not hide what another one does.
std::string subject_of(const Event& event) {
  static constexpr std::array<std::string_view, 5> kSubjects = {"SEQUENCE", "STORE", "LIMIT",
                                                                "OPTION", "CLIENT_UID"};
  std::string subject;
  for (const std::string_view wanted : kSubjects) {
    for (const auto& [name, value] : event.fields)
      if (name == wanted) subject.append(wanted).append("=").append(value, 0, 256).append("\n");
  }
  return subject;
}

}  // namespace

std::optional<std::int64_t> EventRate::pass(const Event& event, std::int64_t now_ms) {
  if (std::find(kRepeating.begin(), kRepeating.end(), event.kind) == kRepeating.end()) return 0;
  std::pair<EventKind, std::string> key(event.kind, subject_of(event));
  if (seen_.size() >= kMaxSubjects && !seen_.contains(key)) make_room(now_ms);
  // Still full: the new subjects share one place, so that their number floods nothing.
  if (seen_.size() >= kMaxSubjects && !seen_.contains(key)) key.second.clear();
  const auto [found, fresh] = seen_.try_emplace(std::move(key));
  ASSERT(seen_.size() <= kMaxSubjects + kRepeating.size());
  Seen& seen = found->second;
  if (!fresh && now_ms - seen.passed_at_ms < kInterval_ms) {
    ++seen.left_out;
    return std::nullopt;
  }
  seen.passed_at_ms = now_ms;
  return std::exchange(seen.left_out, 0);
}

// With more subjects than places each event comes here.
void EventRate::make_room(std::int64_t now_ms) {
  if (looks_ > 0 && now_ms - looked_ms_ < kLook_ms) return;
  looked_ms_ = now_ms;
  ++looks_;
  std::erase_if(
      seen_, [&](const auto& entry) { return now_ms - entry.second.passed_at_ms >= kInterval_ms; });
}

}  // namespace seqd

#include "daemon/os/journal/event_rate.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// What a busy or a hostile client, or a store that is away, can make happen many times a second.
constexpr std::array kRepeating = {EventKind::lease_granted, EventKind::lease_failed,
                                   EventKind::client_dropped, EventKind::limit_reached,
                                   EventKind::state_warning};

// The fields that identify the subject of an event: events of one user must not suppress those of
// another.
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
  Kind& kind = kinds_[event.kind];
  Subject& subject = find(kind, subject_of(event), now_ms);
  if (subject.passed_at_ms && now_ms - *subject.passed_at_ms < kInterval_ms) {
    ++subject.left_out;
    return std::nullopt;
  }
  subject.passed_at_ms = now_ms;
  return std::exchange(subject.left_out, 0);
}

// A subject that will pass moves to the end of the list; one that will be left out stays.
EventRate::Subject& EventRate::find(Kind& kind, std::string text, std::int64_t now_ms) {
  const auto long_ago = [&](const Subject& subject) {
    return now_ms - *subject.passed_at_ms >= kInterval_ms;
  };
  Subjects& subjects = kind.by_age;
  if (const auto known = kind.by_text.find(text); known != kind.by_text.end()) {
    if (long_ago(*known->second)) subjects.splice(subjects.end(), subjects, known->second);
    return *known->second;
  }
  if (subjects.size() >= kMaxSubjects) {
    if (!long_ago(subjects.front())) return kind.others;
    kind.others.left_out += subjects.front().left_out;
    kind.by_text.erase(subjects.front().text);
    subjects.pop_front();
  }
  Subject& fresh = subjects.emplace_back(Subject{std::move(text), std::nullopt, 0});
  kind.by_text.emplace(fresh.text, std::prev(subjects.end()));
  ASSERT(subjects.size() == kind.by_text.size() && subjects.size() <= kMaxSubjects);
  return fresh;
}

}  // namespace seqd

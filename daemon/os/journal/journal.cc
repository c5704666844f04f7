#include "daemon/os/journal/journal.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/os/journal/event_line.h"
#include "daemon/os/journal/journal_socket.h"

namespace seqd {
namespace {

// Critical messages (the daemon ends or does not start, or a store is stopped) are retried this
// long.
constexpr int kPatienceMs = 100;
constexpr int kCritical = 2;  // the priority of critical events

// Whether journald took it.
bool send_to_journal(const std::vector<std::string>& fields, bool critical) {
  static JournalSocket journal("/run/systemd/journal/socket");
  return journal.send(fields, critical ? kPatienceMs : 0);
}

// A reader of stderr that has stopped reading must not stop the daemon: when there is no room the
// line is dropped. A line is shorter than PIPE_BUF, so that a pipe takes it whole or not at all.
void write_line(int priority, const std::string& line) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
  std::string out;
  if (stderr_line_style() == LineStyle::pipe) out = "<" + std::to_string(priority) + ">";
  out.append(line).append("\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, out.data(), out.size());
}

template <typename Each>
void for_each_line(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    each(escape_line(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

Journal::Journal(const Clock& clock) : clock_(clock) {}

void Journal::raise(const Event& event) {
  const std::optional<std::int64_t> left_out = rate_.pass(event, clock_.monotonic_ms());
  if (!left_out) return;
  Event shown = event;
  if (*left_out > 0) {
    shown.text.append(" (" + std::to_string(*left_out) + " like it before were left out)");
    shown.fields.emplace_back("SUPPRESSED", std::to_string(*left_out));
  }
  if (stderr_is_journal()) {
    send_to_journal(journal_fields(shown), event_info(event.kind).priority <= kCritical);
  } else {
    write_line(event_info(event.kind).priority, event_line(shown));
  }
}

std::vector<std::string> journal_fields(const Event& event) {
  const EventInfo& info = event_info(event.kind);
  std::vector<std::string> out = {"MESSAGE=" + escape_line(event.text),
                                  "MESSAGE_ID=" + std::string(info.message_id),
                                  "PRIORITY=" + std::to_string(info.priority),
                                  "SYSLOG_IDENTIFIER=seqd", "EVENT=" + std::string(info.name)};
  std::size_t fields = 0;
  for (const auto& [name, value] : event.fields) {
    if (!valid_field_name(name) || ++fields > kMaxEventFields) continue;
    out.push_back(name + "=" + escape_line(value));
  }
  return out;
}

bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  if (stream == nullptr) return false;
  const std::string_view text(stream);
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, device);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return false;
  const auto second = std::from_chars(first.ptr + 1, end, inode);
  if (second.ec != std::errc() || second.ptr != end) return false;
  struct stat facts {};
  return fstat(STDERR_FILENO, &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

LineStyle stderr_line_style() {
  return isatty(STDERR_FILENO) == 1 ? LineStyle::terminal : LineStyle::pipe;
}

void log(int priority, std::string_view text) {
  const bool journal = stderr_is_journal();
  bool patient = true;  // a journald that hangs is waited for once and not line by line
  for_each_line(text, [&](const std::string& line) {
    if (!journal) return write_line(priority, "seqd: " + line);
    patient = send_to_journal(
        {"MESSAGE=" + line, "PRIORITY=" + std::to_string(priority), "SYSLOG_IDENTIFIER=seqd"},
        patient);
  });
}

void log_last(int priority, std::string_view text) {
  // The journal names the writer of a stream by the service's name.
  const std::string_view front = stderr_is_journal() ? "" : "seqd: ";
  for_each_line(text,
                [&](const std::string& line) { write_line(priority, std::string(front) + line); });
}

}  // namespace seqd

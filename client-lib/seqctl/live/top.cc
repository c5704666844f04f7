#include <algorithm>
#include <string>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/samples.h"
#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/live/terminal.h"
#include "client-lib/seqctl/live/top_screen.h"
#include "client-lib/seqctl/live/top_table.h"
#include "client-lib/seqctl/live/watching.h"
#include "client-lib/seqctl/reports/report.h"
#include "client-lib/seqctl/timeouts.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

// One sample reads 20,000 sequences. With more, the table is renewed in parts, and a rate is that
// between two samples of its sequence.
constexpr std::size_t kPagesPerSample = 20;
constexpr std::size_t kPagesOfAll = TopTable::kMostSequences / kPageRows + 1;
constexpr std::int64_t kRowsElsewhere = 20;  // on what is no terminal

// The other screen of the terminal, without a cursor, while this lives.
class OtherScreen {
 public:
  explicit OtherScreen(Output& out) : out_(out) { out_.write("\x1b[?1049h\x1b[?25l"); }
  ~OtherScreen() { out_.write("\x1b[0m\x1b[?25h\x1b[?1049l"); }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;

 private:
  Output& out_;
};

class Top {
 public:
  Top(const Arguments& arguments, seqd_client* client, Output& out, Output& errors)
      : arguments_(arguments),
        client_(client),
        out_(out),
        errors_(errors),
        samples_(arguments.interval_ms, 0, out),
        pages_(client) {}

  int run() {
    const bool live = arguments_.format == Format::text && terminal_of(out_.descriptor()).is_one;
    samples_.next();
    const Answered first = sample(live ? kPagesPerSample : kPagesOfAll);
    if (!first.ok()) {
      errors_.write(error_text(arguments_.format, seqd_error_name(first.code), first.error));
      return exit_code(first.code);
    }
    if (live) {
      watch();
    } else {
      print();
    }
    const int written = exit_code_of_writing(arguments_.format, out_, errors_);
    return written == kExitOk && is_interrupted() ? kExitInterrupted : written;
  }

 private:
  // Draws it again until the end.
  void watch() {
    const OtherScreen screen(out_);
    for (std::int64_t drawn = 1;; ++drawn) {
      const Terminal terminal = terminal_of(out_.descriptor());
      out_.write(
          screen_.text(table_, heading_, rows(TopScreen::kMostRows), terminal, samples_.now_ms()));
      if (drawn == arguments_.samples || !samples_.next()) return;
      const Answered answered = sample(kPagesPerSample);
      heading_.trouble =
          answered.ok() ? "" : std::string(seqd_error_name(answered.code)) + ": " + answered.error;
    }
  }

  // One table per interval: with rates, so none for the first sample.
  void print() {
    const std::int64_t most = arguments_.samples == 0 ? 1 : arguments_.samples;
    for (std::int64_t printed = 0; printed < most && samples_.next(); ++printed) {
      const Answered answered = sample(kPagesOfAll);
      if (!answered.ok()) {
        const std::string code = seqd_error_name(answered.code);
        out_.write(arguments_.format == Format::json
                       ? error_text(arguments_.format, code, answered.error)
                       : "no answer: " + code + ": " + printable(answered.error) + "\n");
      } else if (arguments_.format == Format::json) {
        out_.write(to_json_line(top_value(table_, heading_, rows(kRowsElsewhere))) + "\n");
      } else {
        out_.write(screen_.text(table_, heading_, rows(kRowsElsewhere), {}, samples_.now_ms()));
      }
    }
  }

  std::size_t rows(std::int64_t otherwise) const {
    return static_cast<std::size_t>(arguments_.rows == 0 ? otherwise : arguments_.rows);
  }

  // At the daemon, and at the next pages of list: at most so many, and none twice.
  Answered sample(std::size_t pages) {
    Answered status = ask(client_, "status");
    if (!status.ok()) return status;
    note(status.value);
    for (std::size_t pages_read = 0; pages_read < pages; ++pages_read) {
      Answered page = pages_.next();
      if (!page.ok()) {
        pages_ = Pages(client_);
        return page;
      }
      table_.add_page(page.value, samples_.now_ms());
      if (pages_.more() && !table_.is_full()) continue;
      table_.end_round();
      pages_ = Pages(client_);
      break;
    }
    return status;
  }

  void note(const json& status) {
    const std::int64_t now_ms = samples_.now_ms();
    const json version = member(status, "version");
    heading_.version = version.is_string() ? version.get<std::string>().substr(0, 64) : "";
    heading_.connections = count_of(status, "connections").value_or(0);
    heading_.waiting = count_of(status, "waiting").value_or(0);
    heading_.rate.reset();
    const auto issued = difference(status_, status, "issued");
    const std::int64_t passed_ms = std::max<std::int64_t>(now_ms - status_ms_, 1);
    if (issued)
      heading_.rate = static_cast<double>(*issued) * 1'000 / static_cast<double>(passed_ms);
    status_ = {{"issued", member(status, "issued")}};
    status_ms_ = now_ms;
  }

  const Arguments& arguments_;
  seqd_client* client_;
  Output& out_;
  Output& errors_;
  Samples samples_;
  Pages pages_;
  TopTable table_;
  TopScreen screen_;
  TopScreen::Heading heading_;
  json status_;
  std::int64_t status_ms_ = 0;
};

}  // namespace

int run_top(const Arguments& arguments, seqd_client* client, Output& out, Output& errors) {
  return Top(arguments, client, out, errors).run();
}

}  // namespace seqd::seqctl

#include "client-lib/seqctl/taking.h"

#include <algorithm>
#include <span>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/reports/report.h"
#include "client-lib/seqctl/timeouts.h"

namespace seqd::seqctl {
namespace {

std::span<const seqd_run> runs_of(const seqd_reply& reply) {
  return {reply.runs, reply.run_count};
}

}  // namespace

// Whether the output still has a reader.
bool Taking::goes_on() const {
  return out_.state() == Output::State::well && !is_interrupted();
}

int Taking::submit(std::int64_t count) {
  const char* const name = arguments_.name.c_str();
  const bool one = arguments_.command == Command::next && arguments_.count == 1;
  const int code = one ? seqd_submit_next(client_, name, nullptr)
                       : seqd_submit_range(client_, name, count, nullptr);
  if (code != SEQD_OK) error_ = seqd_last_error(client_);
  return code;
}

bool Taking::take(seqd_reply& reply, int& code) {
  if (!awaiting_.next(reply, code, error_)) return false;
  if ((code = reply.code) != SEQD_OK) error_ = reply.text;
  return code == SEQD_OK;
}

std::int64_t Taking::ids_at_once(int& code) {
  if (arguments_.count == 1) return 1;
  std::int64_t limit = 0;
  code = seqd_limit(client_, "count", &limit);
  if (code != SEQD_OK) error_ = seqd_last_error(client_);
  return limit > 0 ? std::min(kIdsAtOnce, limit) : kIdsAtOnce;
}

// In as many requests as the daemon's limit requires.
int Taking::next() {
  IdStream stream(arguments_, out_);
  int code = SEQD_OK;
  const std::int64_t at_once = ids_at_once(code);
  std::int64_t left = arguments_.count;
  while (code == SEQD_OK && left > 0 && goes_on()) {
    const std::int64_t count = std::min(left, at_once);
    seqd_reply reply = {};
    if ((code = submit(count)) != SEQD_OK || !take(reply, code)) break;
    stream.add(runs_of(reply));
    left -= count;
  }
  stream.finish(code != SEQD_OK);
  return finished(code);
}

// Takes `count` texts, pipelined. Those that came in spite of an error are there too, in order.
int Taking::take_texts(std::size_t count, std::vector<std::string>& texts) {
  texts.assign(count, "");
  int code = SEQD_OK;
  const auto failed_with = [&](int result, const char* text) {
    if (code != SEQD_OK) return;
    code = result;
    error_ = text;
  };
  for (std::string& text : texts) {
    const int submitted = seqd_submit_next_text(client_, arguments_.name.c_str(), &text);
    if (submitted != SEQD_OK) failed_with(submitted, seqd_last_error(client_));
  }
  // Ends: every request has a deadline.
  seqd_reply reply = {};
  while (awaiting_.next(reply, code, error_)) {
    if (reply.code == SEQD_OK)
      *static_cast<std::string*>(reply.tag) = reply.text;
    else
      failed_with(reply.code, reply.text);
  }
  std::erase(texts, "");
  return code;
}

int Taking::next_text() {
  IdStream stream(arguments_, out_);
  int code = SEQD_OK;
  auto left = static_cast<std::size_t>(arguments_.count);
  while (code == SEQD_OK && left > 0 && goes_on()) {
    std::vector<std::string> texts;
    const std::size_t count = std::min(left, kTextsAtOnce);
    code = take_texts(count, texts);
    left -= count;
    stream.add(texts);
  }
  stream.finish(code != SEQD_OK);
  return finished(code);
}

int Taking::range() {
  int code = SEQD_OK;
  seqd_reply reply = {};
  if (goes_on() && (code = submit(arguments_.count)) == SEQD_OK && take(reply, code)) {
    const auto runs = runs_of(reply);
    out_.write(arguments_.format == Format::json
                   ? to_json_line({{"name", arguments_.name}, {"runs", runs_json(runs)}}) + "\n"
                   : runs_text(runs));
  }
  return finished(code);
}

// The exit code. Everything that was taken is printed, also after an error or an interruption.
int Taking::finished(int code) {
  if (code != SEQD_OK) errors_.write(error_text(arguments_.format, seqd_error_name(code), error_));
  const int result =
      code != SEQD_OK ? exit_code(code) : exit_code_of_writing(arguments_.format, out_, errors_);
  if (const std::size_t requests = awaiting_.unanswered(); requests > 0)
    errors_.write(error_text(arguments_.format, "INTERRUPTED", unanswered_text(requests)));
  return result == kExitOk && is_interrupted() ? kExitInterrupted : result;
}

}  // namespace seqd::seqctl

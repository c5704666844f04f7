#include "client-lib/seqctl/commands.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client-lib/seqctl/decommission_report.h"
#include "client-lib/seqctl/drain_report.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/history_report.h"
#include "client-lib/seqctl/insert_document.h"
#include "client-lib/seqctl/purge_report.h"
#include "client-lib/seqctl/report.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

// A command asks a daemon that is there, or has just been started again; only `wait` waits longer
// for one that is absent.
constexpr std::int64_t kConnectTimeoutMs = 1'000;
// IDs of one request of `next -n`: few enough to print while the next ones come.
constexpr std::int64_t kIdsAtOnce = 10'000;
constexpr std::int64_t kDrainAnswerMs = 5'000;
// Behind its deadline every store is asked once more.
constexpr std::int64_t kDecommissionAnswerMs = 60'000;
// Of a page: the store goes through so many keys.
constexpr std::int64_t kPurgeAnswerMs = 30'000;
constexpr std::int64_t kLongestDecommissionMs = 300'000;
// The same for texts, each of which is a request.
constexpr std::size_t kTextsAtOnce = 1'000;
constexpr std::int64_t kPollMs = 60'000;

struct CloseClient {
  void operator()(seqd_client* client) const { seqd_close(client); }
};

class Execution {
 public:
  Execution(const Arguments& arguments, seqd_client* client, Output& out, Output& errors)
      : arguments_(arguments), client_(client), out_(out), errors_(errors) {}

  int run() {
    switch (arguments_.command) {
      case Command::next:
        return arguments_.as_text ? next_text() : next();
      case Command::parse:
        return call("parse", parsed_text, json::array({arguments_.name, arguments_.text}));
      case Command::insert:
        return insert();
      case Command::range:
        return range();
      case Command::peek:
        return peek();
      case Command::gaps:
        return call("gaps", gaps_text,
                    json::array({arguments_.name,
                                 {{"after", arguments_.after}, {"limit", arguments_.gaps}}}));
      case Command::explain:
        return call("explain", explanation_text, json::array({arguments_.name, *arguments_.id}));
      case Command::audit:
        return audit();
      case Command::advance:
        return call("advance", advance_text, advance_params());
      case Command::drain:
        return drain();
      case Command::decommission:
        return decommission();
      case Command::purge:
        return purge();
      case Command::list:
        return call("list", list_text);
      case Command::status:
        return call("status", status_text);
      case Command::reload:
        return call("reload", reload_text);
      case Command::ping:
        return answered(seqd_ping(client_), {{"answer", "pong"}}, "pong\n");
      case Command::wait:
        return answered(seqd_ping(client_), {{"answer", "pong"}}, "");
    }
    return kExitUsage;
  }

 private:
  int failed(int code) {
    errors_.write(error_text(arguments_.format, seqd_error_name(code), seqd_last_error(client_)));
    return exit_code(code);
  }
  // The exit code of having written.
  int written() {
    if (out_.state() != Output::State::failed) return kExitOk;
    errors_.write(error_text(arguments_.format, "OUTPUT", out_.failure()));
    return kExitError;
  }
  int print(const json& value, const std::string& text) {
    out_.write(arguments_.format == Format::json ? to_json_line(value) + "\n" : text);
    return written();
  }
  int answered(int code, const json& value, const std::string& text) {
    return code == SEQD_OK ? print(value, text) : failed(code);
  }

  // Takes the IDs of `next` in as many requests as the daemon's limit asks for.
  template <typename Take>
  int take_all(std::int64_t at_once, Take take) {
    std::int64_t limit = 0;
    int code = arguments_.count == 1 ? SEQD_OK : seqd_limit(client_, "count", &limit);
    at_once = limit > 0 ? std::min(at_once, limit) : at_once;
    std::int64_t left = arguments_.count;
    while (code == SEQD_OK && left > 0 && out_.state() == Output::State::well) {
      const std::int64_t count = std::min(left, at_once);
      const seqd_run* runs = nullptr;
      std::size_t run_count = 0;
      seqd_run single = {0, 1, 1};
      if (arguments_.count == 1) {
        code = seqd_next(client_, arguments_.name.c_str(), &single.first);
        runs = &single;
        run_count = 1;
      } else {
        code = seqd_range(client_, arguments_.name.c_str(), count, &runs, &run_count);
      }
      if (code == SEQD_OK) take(std::span<const seqd_run>(runs, run_count));
      left -= count;
    }
    return code;
  }

  int next() {
    json ids = json::array();
    const int code = take_all(kIdsAtOnce, [&](std::span<const seqd_run> runs) {
      if (arguments_.format == Format::json)
        append_ids(ids, runs);
      else
        out_.write(ids_text(runs));
    });
    // What was taken before an error is printed too: nobody else will get those IDs.
    const bool any = !ids.empty() || code == SEQD_OK;
    const int printed = any ? print({{"name", arguments_.name}, {"ids", ids}}, "") : kExitOk;
    return code == SEQD_OK ? printed : failed(code);
  }

  // Takes `count` texts, pipelined. Those that came in spite of an error are there too, in order.
  int take_texts(std::size_t count, std::vector<std::string>& texts, std::string& error) {
    texts.assign(count, "");
    int code = SEQD_OK;
    const auto failed_with = [&](int result, const char* text) {
      if (code != SEQD_OK) return;
      code = result;
      error = text;
    };
    for (std::string& text : texts) {
      const int submitted = seqd_submit_next_text(client_, arguments_.name.c_str(), &text);
      if (submitted != SEQD_OK) failed_with(submitted, seqd_last_error(client_));
    }
    // Ends: every request has a deadline.
    while (seqd_pending(client_) > 0) {
      seqd_reply reply = {};
      std::size_t used = 0;
      const int polled = seqd_poll(client_, kPollMs, &reply, 1, &used);
      if (polled != SEQD_OK) {
        failed_with(polled, seqd_last_error(client_));
        break;
      }
      if (used == 0) continue;
      if (reply.code == SEQD_OK)
        *static_cast<std::string*>(reply.tag) = reply.text;
      else
        failed_with(reply.code, reply.text);
    }
    std::erase(texts, "");
    return code;
  }

  int next_text() {
    json all = json::array();
    int code = SEQD_OK;
    std::string error;
    auto left = static_cast<std::size_t>(arguments_.count);
    while (code == SEQD_OK && left > 0 && out_.state() == Output::State::well) {
      std::vector<std::string> texts;
      const std::size_t count = std::min(left, kTextsAtOnce);
      code = take_texts(count, texts, error);
      left -= count;
      for (const std::string& text : texts) {
        if (arguments_.format == Format::json)
          all.push_back(text);
        else
          out_.write(text + "\n");
      }
    }
    // As for `next`: what was taken before an error is printed too.
    const bool any = !all.empty() || code == SEQD_OK;
    const int printed = any ? print({{"name", arguments_.name}, {"texts", all}}, "") : kExitOk;
    if (code == SEQD_OK) return printed;
    errors_.write(error_text(arguments_.format, seqd_error_name(code), error));
    return exit_code(code);
  }

  int insert() {
    std::string error;
    const auto document = insert_document(arguments_.text, arguments_.message_pack, error);
    if (!document) {
      errors_.write(error_text(arguments_.format, "ARGUMENT", error));
      return kExitUsage;
    }
    std::int64_t id = 0;
    const int code =
        seqd_insert(client_, arguments_.name.c_str(), document->data(), document->size(), &id);
    return answered(code, {{"name", arguments_.name}, {"id", id}}, std::to_string(id) + "\n");
  }

  int range() {
    const seqd_run* runs = nullptr;
    std::size_t run_count = 0;
    const int code =
        seqd_range(client_, arguments_.name.c_str(), arguments_.count, &runs, &run_count);
    if (code != SEQD_OK) return failed(code);
    const std::span<const seqd_run> all(runs, run_count);
    return print({{"name", arguments_.name}, {"runs", runs_json(all)}}, runs_text(all));
  }

  int peek() {
    // Not seqd_peek(): 0 may be an ID, too.
    json answer;
    const int code = ask("peek", json::array({arguments_.name}), answer);
    if (code != kExitOk) return code;
    json value = {{"name", arguments_.name}};
    for (const char* key : {"next", "in_hand", "last"}) value[key] = member(answer, key);
    return print(value, peek_text(value));
  }

  int audit() {
    json answer;
    const int code = call("audit", audit_text, json::array({arguments_.name}), &answer);
    return code == kExitOk && !audit_is_good(answer) ? kExitUnbalanced : code;
  }

  // In the shortest form, which also an older daemon takes.
  json advance_params() const {
    json params = json::array({arguments_.name});
    if (arguments_.id || arguments_.everywhere)
      params.push_back(arguments_.id ? json(*arguments_.id) : json());
    if (arguments_.everywhere) params.push_back({{"everywhere", true}});
    return params;
  }

  int drain() {
    json name = arguments_.name;
    if (arguments_.all) name = nullptr;
    json answer;
    const json params = json::array({name, {{"timeout_ms", arguments_.timeout_ms}}});
    const int code = call("drain", drain_text, params, &answer);
    if (code != kExitOk || drain_is_complete(answer)) return code;
    return drain_has_errors(answer) ? kExitError : kExitTryAgain;
  }

  int decommission() {
    json answer;
    const json options = {{"confirm", arguments_.yes},
                          {"keep_history", arguments_.keep_history},
                          {"timeout_ms", std::min(arguments_.timeout_ms, kLongestDecommissionMs)}};
    const int code = call("decommission", decommission_text, json::array({options}), &answer);
    return code == kExitOk ? decommission_exit_code(answer) : code;
  }

  // Page by page. What was removed before an error is told, too.
  int purge() {
    PurgeReport report(arguments_.name, arguments_.yes);
    int code = kExitOk;
    while (code == kExitOk && report.more()) {
      json answer;
      json params = json::array({arguments_.name, arguments_.yes});
      if (const auto after = report.after()) params.push_back(*after);
      code = ask("purge", params, answer);
      if (code == kExitOk) report.add(answer);
    }
    if (code != kExitOk && !report.any()) return code;
    const int printed = print(report.whole(), report.text(code == kExitOk));
    if (code != kExitOk || printed != kExitOk) return code != kExitOk ? code : printed;
    return report.exit_code();
  }

  // The answer of a method that has no function of its own, or the exit code of having told the
  // error.
  int ask(const char* method, const json& params, json& answer) {
    const void* result = nullptr;
    std::size_t length = 0;
    const std::vector<std::uint8_t> packed = json::to_msgpack(params);
    const int code = seqd_call(client_, method, packed.data(), packed.size(), &result, &length);
    if (code != SEQD_OK) return failed(code);
    answer = from_message_pack({static_cast<const char*>(result), length});
    if (!answer.is_discarded()) return kExitOk;
    errors_.write(error_text(arguments_.format, "PROTOCOL",
                             "the daemon's answer holds what JSON cannot hold"));
    return kExitError;
  }

  int call(const char* method, std::string (*text)(const json&), const json& params = json::array(),
           json* answer = nullptr) {
    json value;
    const int code = ask(method, params, value);
    if (answer != nullptr) *answer = value;
    return code == kExitOk ? print(value, text(value)) : code;
  }

  const Arguments& arguments_;
  seqd_client* client_;
  Output& out_;
  Output& errors_;
};

}  // namespace

int run_command(const Arguments& arguments, Output& out, Output& errors) {
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = arguments.socket.empty() ? nullptr : arguments.socket.c_str();
  options.name = "seqctl";
  options.timeout_ms = arguments.timeout_ms;
  // The daemon's own deadline comes first, and its answer says what was done.
  if (arguments.command == Command::drain) options.timeout_ms += kDrainAnswerMs;
  if (arguments.command == Command::decommission) options.timeout_ms += kDecommissionAnswerMs;
  if (arguments.command == Command::purge) options.timeout_ms += kPurgeAnswerMs;
  if (arguments.command != Command::wait)
    options.connect_timeout_ms = std::min(arguments.timeout_ms, kConnectTimeoutMs);
  seqd_client* opened = nullptr;
  const int code = seqd_open(&options, &opened);
  const std::unique_ptr<seqd_client, CloseClient> client(opened);
  if (code != SEQD_OK) {
    errors.write(error_text(arguments.format, seqd_error_name(code),
                            "the socket's path is longer than 107 bytes"));
    return exit_code(code);
  }
  return Execution(arguments, client.get(), out, errors).run();
}

}  // namespace seqd::seqctl

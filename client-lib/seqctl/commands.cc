#include "client-lib/seqctl/commands.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/doctor/doctor.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/insert_document.h"
#include "client-lib/seqctl/live/health.h"
#include "client-lib/seqctl/live/watching.h"
#include "client-lib/seqctl/registering.h"
#include "client-lib/seqctl/reports/advance_report.h"
#include "client-lib/seqctl/reports/clients_report.h"
#include "client-lib/seqctl/reports/config_report.h"
#include "client-lib/seqctl/reports/decommission_report.h"
#include "client-lib/seqctl/reports/drain_report.h"
#include "client-lib/seqctl/reports/history_report.h"
#include "client-lib/seqctl/reports/purge_report.h"
#include "client-lib/seqctl/reports/report.h"
#include "client-lib/seqctl/reports/rights_report.h"
#include "client-lib/seqctl/taking.h"
#include "client-lib/seqctl/timeouts.h"
#include "client-lib/seqctl/user_names.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

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
        return arguments_.as_text ? taking_.next_text() : taking_.next();
      case Command::parse:
        return call("parse", parsed_text, json::array({arguments_.name, arguments_.text}));
      case Command::insert:
        return insert();
      case Command::range:
        return taking_.range();
      case Command::assign:
        return registering_.assign();
      case Command::confirm:
        return registering_.confirm();
      case Command::cancel:
        return registering_.cancel();
      case Command::records:
        return registering_.records();
      case Command::settle:
        return registering_.settle();
      case Command::close:
        return registering_.close();
      case Command::peek:
        return peek();
      case Command::gaps:
        return call("gaps", gaps_text,
                    json::array({arguments_.name,
                                 {{"after", arguments_.after}, {"limit", arguments_.gaps}}}));
      case Command::explain:
        return call(
            "explain", [](const json& answer) { return explanation_text(answer, user_name); },
            json::array(
                {arguments_.name, arguments_.id ? json(*arguments_.id) : json(arguments_.text)}));
      case Command::audit:
        return audit();
      case Command::advance:
        return advance();
      case Command::drain:
        return drain();
      case Command::decommission:
        return decommission();
      case Command::purge:
        return purge();
      case Command::list:
        return list();
      case Command::status:
        return status();
      case Command::reload:
        return call("reload", reload_text);
      case Command::ping:
        return print_or_fail(seqd_ping(client_), {{"answer", "pong"}}, "pong\n");
      case Command::wait:
        return print_or_fail(seqd_ping(client_), {{"answer", "pong"}}, "");
      case Command::health:
        return health();
      case Command::stat:
        return run_stat(arguments_, client_, out_, errors_);
      case Command::latency:
        return run_latency(arguments_, client_, out_, errors_);
      case Command::watch:
        return run_watch(arguments_, client_, out_, errors_);
      case Command::clients:
        return clients();
      case Command::rights:
        return rights();
      case Command::config_dump:
        return config_dump();
      case Command::top:
        return run_top(arguments_, client_, out_, errors_);
      case Command::doctor:
        return run_doctor(arguments_, client_, out_, errors_);
    }
    return kExitUsage;
  }

 private:
  int reported(const Answered& answered) {
    errors_.write(error_text(arguments_.format, seqd_error_name(answered.code), answered.error));
    return exit_code(answered.code);
  }
  int failed(int code) { return reported({code, seqd_last_error(client_), {}}); }
  int print(const json& value, const std::string& text) {
    out_.write(arguments_.format == Format::json ? to_json_line(value) + "\n" : text);
    return exit_code_of_writing(arguments_.format, out_, errors_);
  }
  int print_or_fail(int code, const json& value, const std::string& text) {
    return code == SEQD_OK ? print(value, text) : failed(code);
  }

  int insert() {
    std::string error;
    const auto document = insert_document(arguments_.text, arguments_.message_pack, error);
    if (!document) {
      errors_.write(error_text(arguments_.format, "ARGUMENT", error));
      return kExitUsage;
    }
    std::int64_t id = 0;
    const std::string& unique = arguments_.unique;
    const int code =
        unique.empty()
            ? seqd_insert(client_, arguments_.name.c_str(), document->data(), document->size(), &id)
            : seqd_insert_unique(client_, arguments_.name.c_str(), document->data(),
                                 document->size(), unique.c_str(), &id);
    return print_or_fail(code, {{"name", arguments_.name}, {"id", id}}, std::to_string(id) + "\n");
  }

  int peek() {
    json answer;
    const int code = ask("peek", json::array({arguments_.name}), answer);
    if (code != kExitOk) return code;
    json value = {{"name", arguments_.name}};
    for (const char* key : {"next", "available", "last"}) value[key] = member(answer, key);
    return print(value, peek_text(value));
  }

  // All pages of `list` as one array.
  int ask_list(json& rows) {
    rows = json::array();
    for (Pages pages(client_); pages.more();) {
      Answered page = pages.next();
      if (!page.ok()) return reported(page);
      if (!page.value.is_array()) {
        rows = std::move(page.value);
        break;
      }
      for (json& row : page.value) rows.push_back(std::move(row));
    }
    return kExitOk;
  }

  int list() {
    json rows;
    const int code = ask_list(rows);
    return code == kExitOk ? print(rows, list_text(rows)) : code;
  }

  int clients() {
    const Answered answered = ask_clients(client_);
    return answered.ok() ? print(answered.value, clients_text(answered.value, user_name))
                         : reported(answered);
  }

  int rights() {
    std::vector<std::string> names = arguments_.names;
    if (names.empty()) {
      json rows;
      if (const int code = ask_list(rows); code != kExitOk) return code;
      if (rows.is_array())
        for (const json& row : rows) names.push_back(shown(row, "name"));
    }
    const Answered answered = ask_rights(client_, names);
    return answered.ok() ? print(answered.value, rights_text(answered.value, user_name))
                         : reported(answered);
  }

  int config_dump() {
    const Answered answered =
        arguments_.name.empty()
            ? ask_config(client_)
            : seqctl::ask(client_, "config", json::array({{{"sequence", arguments_.name}}}));
    return answered.ok() ? print(answered.value, config_text(answered.value)) : reported(answered);
  }

  // With the stopped sequences, which only `list` contains.
  int status() {
    json answer;
    int code = ask("status", json::array(), answer);
    json list;
    if (code == kExitOk) code = ask_list(list);
    if (code != kExitOk) return code;
    if (answer.is_object()) answer["stopped"] = stopped_sequences(list);
    code = print(answer, status_text(answer));
    return code == kExitOk && !status_is_good(answer) ? kExitStopped : code;
  }

  int health() {
    if (arguments_.live) return print_or_fail(seqd_ping(client_), {{"live", true}}, "live\n");
    Readiness readiness;
    const Answered checked = check_readiness(client_, readiness);
    if (!checked.ok()) return reported(checked);
    const int code = print(readiness.value(), readiness.text());
    return code == kExitOk && !readiness.ready() ? kExitStopped : code;
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

  int advance_all() {
    if (arguments_.yes) {
      json answer;
      const int code = call("advance_store", advance_all_text,
                            json::array({arguments_.store, arguments_.resume}), &answer);
      return code == kExitOk && member(answer, "failed") != json(0) ? kExitError : code;
    }
    json list;
    if (const int code = ask_list(list); code != kExitOk) return code;
    const json preview = advance_all_preview(list, arguments_.store, arguments_.resume);
    const int printed = print(preview, advance_all_preview_text(preview));
    return printed == kExitOk ? kExitPreview : printed;
  }

  int advance() {
    if (arguments_.all) return advance_all();
    if (arguments_.yes) return call("advance", advance_text, advance_params());
    json answer;
    const int code = ask("peek", json::array({arguments_.name}), answer);
    if (code != kExitOk) return code;
    const json preview = {{"name", arguments_.name},
                          {"to", arguments_.id ? json(*arguments_.id) : json()},
                          {"everywhere", arguments_.everywhere},
                          {"next", member(answer, "next")}};
    const int printed = print(preview, advance_preview_text(preview));
    return printed == kExitOk ? kExitPreview : printed;
  }

  // Whether --yes is required; `code` is the exit code after reporting that.
  bool drain_needs_yes(int& code) {
    json list;
    code = ask_list(list);
    if (code != kExitOk) return true;
    const json losses = drain_losses(list, arguments_.all ? "" : arguments_.name);
    if (losses.empty() && !arguments_.remove) return false;
    code = print(losses, drain_losses_text(losses));
    if (code == kExitOk) code = kExitPreview;
    return true;
  }

  int drain() {
    int looked = kExitOk;
    if (!arguments_.yes && drain_needs_yes(looked)) return looked;
    json name = arguments_.name;
    if (arguments_.all) name = nullptr;
    json answer;
    json options = {{"timeout_ms", std::min(arguments_.timeout_ms, kLongestDrainMs)}};
    if (arguments_.remove) options["remove"] = true;  // which an older daemon does not know
    const json params = json::array({name, options});
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

  // Page by page. Counters that were removed before an error are printed, too.
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

  // The answer of a method that has no function of its own; or reports the error and returns its
  // exit code.
  int ask(const char* method, const json& params, json& answer) {
    Answered answered = seqctl::ask(client_, method, params);
    if (!answered.ok()) return reported(answered);
    answer = std::move(answered.value);
    return kExitOk;
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
  Taking taking_{arguments_, client_, out_, errors_};
  Registering registering_{arguments_, client_, out_, errors_};
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
  if (arguments.command == Command::advance && arguments.all)
    options.timeout_ms += kAdvanceAllAnswerMs;
  if (arguments.command == Command::purge) options.timeout_ms += kPurgeAnswerMs;
  if (takes_samples(arguments.command) && !arguments.timeout_is_given)
    options.timeout_ms = kSampleTimeoutMs;
  if (arguments.command != Command::wait && !arguments.timeout_is_given)
    options.connect_timeout_ms = std::min(arguments.timeout_ms, kConnectTimeoutMs);
  seqd_client* opened = nullptr;
  const int code = seqd_open(&options, &opened);
  const std::unique_ptr<seqd_client, CloseClient> client(opened);
  if (code != SEQD_OK) {
    errors.write(error_text(arguments.format, seqd_error_name(code), seqd_last_error(opened)));
    return exit_code(code);
  }
  return Execution(arguments, client.get(), out, errors).run();
}

}  // namespace seqd::seqctl

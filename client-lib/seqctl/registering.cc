#include "client-lib/seqctl/registering.h"

#include <fstream>
#include <iostream>
#include <utility>
#include <vector>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/reports/register_report.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {

using nlohmann::json;

json Registering::options(bool has_number) const {
  json options = json::object();
  if (arguments_.timeout_is_given) options["timeout_ms"] = arguments_.timeout_ms;
  if (has_number && arguments_.id) options["number"] = *arguments_.id;
  return options;
}

int Registering::reported(const Answered& answered) {
  errors_.write(error_text(arguments_.format, seqd_error_name(answered.code), answered.error));
  return exit_code(answered.code);
}

int Registering::call(const char* method, const json& params, json& record) {
  Answered answered = ask(client_, method, params);
  if (!answered.ok()) return reported(answered);
  record = std::move(answered.value);
  return kExitOk;
}

int Registering::assign() {
  json record;
  const json params = json::array({arguments_.name, arguments_.text, options(false)});
  if (const int code = call("assign", params, record); code != kExitOk) return code;
  out_.write(arguments_.format == Format::json ? to_json_line(record) + "\n"
                                               : shown(record, "text") + "\n");
  return exit_code_of_writing(arguments_.format, out_, errors_);
}

int Registering::confirm() {
  json record;
  const json params = json::array({arguments_.name, arguments_.text, options(true)});
  if (const int code = call("confirm", params, record); code != kExitOk) return code;
  out_.write(arguments_.format == Format::json ? to_json_line(record) + "\n" : record_text(record));
  return exit_code_of_writing(arguments_.format, out_, errors_);
}

int Registering::cancel() {
  json record;
  const json params =
      json::array({arguments_.name, arguments_.text, arguments_.reason, options(true)});
  if (const int code = call("cancel", params, record); code != kExitOk) return code;
  out_.write(arguments_.format == Format::json ? to_json_line(record) + "\n" : record_text(record));
  return exit_code_of_writing(arguments_.format, out_, errors_);
}

int Registering::print_records(const std::string& state, std::int64_t& count) {
  json after = 0;
  bool is_first = true;
  while (!after.is_null() && out_.state() == Output::State::well && !is_interrupted()) {
    json options = {{"after", after}, {"limit", kRecordsAtOnce}};
    if (!state.empty()) options["state"] = state;
    json page;
    if (const int code = call("records", json::array({arguments_.name, options}), page);
        code != kExitOk)
      return code;
    const json records = member(page, "records");
    count += static_cast<std::int64_t>(records.is_array() ? records.size() : 0);
    out_.write(arguments_.csv                      ? records_csv(records, is_first)
               : arguments_.format == Format::json ? records_json(records)
                                                   : records_text(records, is_first));
    is_first = false;
    const json next = member(page, "after");
    // The data of the daemon is not trusted: its pages have to advance.
    const bool advances = next.is_number_integer() && next > after;
    after = advances ? next : json();
  }
  if (is_interrupted()) return kExitInterrupted;
  return exit_code_of_writing(arguments_.format, out_, errors_);
}

int Registering::records() {
  std::int64_t count = 0;
  return print_records(arguments_.state, count);
}

int Registering::close() {
  if (!arguments_.yes) {
    std::int64_t count = 0;
    const int code = print_records("assigned", count);
    if (code != kExitOk) return code;
    errors_.write(close_preview_text(arguments_.name, count));
    return kExitPreview;
  }
  json highest;
  if (const int code = call("close", json::array({arguments_.name, options(false)}), highest);
      code != kExitOk)
    return code;
  out_.write(arguments_.format == Format::json
                 ? to_json_line({{"name", arguments_.name}, {"highest", highest}}) + "\n"
                 : closed_text(arguments_.name, highest));
  return exit_code_of_writing(arguments_.format, out_, errors_);
}

// --- in bulk

bool Registering::settle_line(const std::string& line, std::size_t number) {
  const std::vector<std::string> cells = csv_cells(line);
  const bool confirms = cells.size() >= 2 && cells[1] == "confirmed";
  const bool cancels = cells.size() >= 3 && cells[1] == "cancelled" && !cells[2].empty();
  Answered answered{SEQD_E_ARGUMENT, "KEY,confirmed or KEY,cancelled,REASON is expected", {}};
  if (confirms) {
    answered = ask(client_, "confirm", json::array({arguments_.name, cells[0]}));
  } else if (cancels) {
    answered = ask(client_, "cancel", json::array({arguments_.name, cells[0], cells[2]}));
  }
  if (answered.ok()) return true;
  errors_.write(error_text(arguments_.format, seqd_error_name(answered.code),
                           "line " + std::to_string(number) + ": " + answered.error));
  return false;
}

int Registering::settle() {
  std::ifstream file;
  const bool is_input = arguments_.text == "-";
  if (!is_input) file.open(arguments_.text);
  if (!is_input && !file) {
    errors_.write(error_text(arguments_.format, "ARGUMENT",
                             "the file " + arguments_.text + " cannot be read"));
    return kExitUsage;
  }
  std::istream& lines = is_input ? std::cin : file;
  std::int64_t settled = 0;
  std::int64_t failed = 0;
  std::size_t number = 0;
  for (std::string line; !is_interrupted() && std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("key,state"))) continue;
    ++(settle_line(line, number) ? settled : failed);
  }
  out_.write(arguments_.format == Format::json
                 ? to_json_line({{"settled", settled}, {"failed", failed}}) + "\n"
                 : settled_text(settled, failed));
  if (is_interrupted()) return kExitInterrupted;
  const int printed = exit_code_of_writing(arguments_.format, out_, errors_);
  return printed == kExitOk && failed > 0 ? kExitError : printed;
}

}  // namespace seqd::seqctl

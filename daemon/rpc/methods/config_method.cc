// config: what is in force and where it is from, page by page. For administrators.
#include <optional>
#include <string>

#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;

Result<ConfigQuestion> read_question(const MethodContext& context, const Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "config takes an optional map with one option: \"after\", the text of the "
                     "previous page, or \"sequence\", a name");
  ConfigQuestion question;
  if (message.param_count == 0) return question;
  protocol::ValueReader params = message.params;
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs || *pairs > 1 || message.param_count > 1) return usage;
  if (*pairs == 0) return question;
  const std::optional<std::string_view> key = params.read_text();
  const std::optional<std::string_view> value = key ? params.read_text() : std::nullopt;
  if (!value) return usage;
  if (*key == "after") {
    question.after = *value;
  } else if (*key == "sequence") {
    if (Status status = check_name_with_period(context.limits, *value); !status.ok()) return status;
    question.sequence = *value;
  } else {
    return usage;
  }
  return question;
}

void pack_option(Packer& packer, const ConfigOption& option) {
  packer.pack_map(5);
  pack_pair(packer, "key", option.key);
  pack_pair(packer, "value", option.value);
  pack_pair(packer, "from", option.from);
  if (option.line > 0) {
    pack_pair(packer, "line", option.line);
  } else {
    pack_nil(packer, "line");
  }
  pack_pair(packer, "waits", option.waits);
}

}  // namespace

void method_config(const MethodContext& context, Session& session, const Message& message) {
  const Result<ConfigQuestion> question = read_question(context, message);
  if (!question.ok()) return answer_error(session, message.msgid, question.status());
  const Result<ConfigPage> page = context.control.config(*question);
  if (!page.ok()) return answer_error(session, message.msgid, page.status());
  protocol::begin_result(session.out, message.msgid);
  Packer packer(session.out);
  packer.pack_map(5);
  pack_text(packer, "file", page->file);
  pack_pair(packer, "reloads", context.settings_version - 1);
  packer.pack("tables");
  packer.pack_array(static_cast<std::uint32_t>(page->tables.size()));
  for (const ConfigTable& table : page->tables) {
    packer.pack_map(2);
    pack_pair(packer, "table", table.name);
    packer.pack("options");
    packer.pack_array(static_cast<std::uint32_t>(table.options.size()));
    for (const ConfigOption& option : table.options) pack_option(packer, option);
  }
  pack_pair(packer, "more", !page->after.empty());
  pack_text(packer, "after", page->after);
}

}  // namespace seqd

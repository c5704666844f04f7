// decommission: removes this daemon's instance, or shows what that would do. The answer comes when
// the stores have forgotten it, or when that did not work.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/drain_packing.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/rights.h"

namespace seqd {
namespace {

constexpr std::int64_t kTimeoutMs = 10'000;
constexpr std::int64_t kLongestTimeoutMs = 300'000;

// One option of the map; false: it is none.
bool read_option(std::string_view key, protocol::ValueReader& params,
                 DecommissionRequest& request) {
  if (key == "timeout_ms") {
    const std::optional<std::int64_t> value = params.read_integer();
    request.timeout_ms = value.value_or(-1);
    return request.timeout_ms >= 0 && request.timeout_ms <= kLongestTimeoutMs;
  }
  if (key != "confirm" && key != "keep_history") return false;
  const std::optional<bool> value = params.read_bool();
  if (key == "confirm") request.only_look = !value.value_or(false);
  if (key == "keep_history") request.keep_history = value.value_or(false);
  return value.has_value();
}

Result<DecommissionRequest> read_request(const protocol::Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "decommission takes a map of options: \"confirm\" and \"keep_history\", true "
                     "or false, and \"timeout_ms\", an integer within 0.." +
                         std::to_string(kLongestTimeoutMs));
  DecommissionRequest request;
  request.timeout_ms = kTimeoutMs;
  if (message.param_count == 0) return request;
  protocol::ValueReader params = message.params;
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs || message.param_count > 1) return usage;
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (!key || !read_option(*key, params, request)) return usage;
  }
  return request;
}

const char* end_word(DecommissionReport::End end) {
  switch (end) {
    case DecommissionReport::End::preview:
      return "preview";
    case DecommissionReport::End::refused:
      return "refused";
    case DecommissionReport::End::unfinished:
      return "unfinished";
    case DecommissionReport::End::done:
      break;
  }
  return "done";
}

std::string text_of(const Status& status) {
  return status.ok() ? "" : status.to_string();
}

void pack_sequence(Packer& packer, const IdProgression* progression,
                   const DecommissionReport::OfSequence& part) {
  packer.pack_map(progression == nullptr ? 15 : 16);
  if (progression != nullptr) pack_pair(packer, "step", progression->form().increment);
  pack_pair(packer, "name", part.name);
  pack_pair(packer, "reuse", reuse_word(part.drained.reuse));
  pack_pair(packer, "leased", part.totals.leased);
  pack_pair(packer, "issued", part.totals.issued);
  pack_pair(packer, "available", part.available);
  pack_pair(packer, "out", part.out);
  pack_pair(packer, "returning", part.returning);
  pack_pair(packer, "leasing", part.leasing);
  pack_pair(packer, "returned", part.totals.returned);
  pack_pair(packer, "gaps", part.totals.gaps);
  pack_pair(packer, "unknown", part.totals.unknown);
  pack_spans(packer, "returned_now", progression, part.drained.returned);
  pack_spans(packer, "gaps_now", progression, part.drained.gaps);
  pack_said(packer, "why", part.drained.why);
  pack_said(packer, "error", text_of(part.error));
}

void pack_store(Packer& packer, const DecommissionReport::OfStore& part) {
  packer.pack_map(6);
  pack_pair(packer, "name", part.name);
  pack_pair(packer, "instance", to_hex(part.instance));
  pack_pair(packer, "entry", part.records.entry);
  pack_pair(packer, "records", part.records.records);
  pack_pair(packer, "forgotten", part.forgotten);
  pack_said(packer, "error", text_of(part.error));
}

void pack_report(Packer& packer, const SequenceTable& table, const DecommissionAnswer& report) {
  const DecommissionReport& instance = report.instance;
  packer.pack_map(6);
  pack_pair(packer, "end", std::string_view(end_word(instance.end)));
  pack_said(packer, "why", text_of(instance.why));
  packer.pack("sequences");
  packer.pack_array(static_cast<std::uint32_t>(instance.sequences.size()));
  for (const DecommissionReport::OfSequence& part : instance.sequences)
    pack_sequence(packer, progression_of(table, part.name).get(), part);
  packer.pack("stores");
  packer.pack_array(static_cast<std::uint32_t>(instance.stores.size()));
  for (const DecommissionReport::OfStore& part : instance.stores) pack_store(packer, part);
  pack_pair(packer, "removed", report.removed);
  pack_pair(packer, "left", report.left);
}

}  // namespace

void method_decommission(const MethodContext& context, Session& session,
                         const protocol::Message& message) {
  const Result<DecommissionRequest> request = read_request(message);
  if (!request.ok()) return answer_error(session, message.msgid, request.status());
  asked(session, message, Status());
  if (!request->only_look) raise_administered(context, session, "decommission", "", "");
  const DeferredReply reply = defer(context, session, message, "");
  const Status status =
      context.control.decommission(*request, [reply](const DecommissionAnswer& report) {
        reply.result([&](protocol::Buffer& out) {
          Packer packer(out);
          pack_report(packer, reply.table, report);
        });
      });
  if (!status.ok()) reply.fail(status);
}

}  // namespace seqd

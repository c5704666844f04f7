// drain: returns the available IDs of sequences to their stores; the answer comes when that is done
// for all of them, or when time is up.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/drain_packing.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"

namespace seqd {
namespace {

constexpr std::int64_t kTimeoutMs = 10'000;
constexpr std::int64_t kLongestTimeoutMs = 300'000;
constexpr std::size_t kMostAskers = 64;  // of one sequence

struct Wanted {
  std::optional<std::string_view> name;  // none: every sequence
  std::int64_t timeout_ms = kTimeoutMs;
  bool remove = false;  // the sequence from the log, when it is drained
};

// One option of the map; false: it is none.
bool read_option(std::string_view key, protocol::ValueReader& params, Wanted& wanted) {
  if (key == "remove") {
    const std::optional<bool> value = params.read_bool();
    wanted.remove = value.value_or(false);
    return value.has_value();
  }
  const std::optional<std::int64_t> value =
      key == "timeout_ms" ? params.read_integer() : std::nullopt;
  wanted.timeout_ms = value.value_or(-1);
  return wanted.timeout_ms >= 0 && wanted.timeout_ms <= kLongestTimeoutMs;
}

Status read_options(protocol::ValueReader& params, Wanted& wanted) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return {ErrorCode::BAD_REQUEST, "options must be a map"};
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (!key || !read_option(*key, params, wanted)) {
      return {ErrorCode::BAD_REQUEST, "the options are \"timeout_ms\", an integer within 0.." +
                                          std::to_string(kLongestTimeoutMs) +
                                          ", and \"remove\", true or false"};
    }
  }
  if (wanted.remove && !wanted.name)
    return {ErrorCode::BAD_REQUEST, "one sequence is removed at a time: give its name"};
  return {};
}

Result<Wanted> read_wanted(const MethodContext& context, const protocol::Message& message) {
  const Status usage(
      ErrorCode::BAD_REQUEST,
      "drain takes a name, or nil for every sequence, and, optionally, a map of options");
  protocol::ValueReader params = message.params;
  if (message.param_count < 1 || message.param_count > 2) return usage;
  Wanted wanted;
  protocol::ValueReader nil = params;
  if (nil.read_nil()) {
    params = nil;
  } else {
    wanted.name = params.read_text();
    if (!wanted.name) return usage;
    if (Status status = check_name_with_period(context.limits, *wanted.name); !status.ok())
      return status;
  }
  if (message.param_count == 1) return wanted;
  if (Status status = read_options(params, wanted); !status.ok()) return status;
  return wanted;
}

struct Drained {
  std::string name;
  Progression progression;
  Status error;
  DrainReport report;
  bool removed = false;
};

// What one request drains.
struct Batch {
  explicit Batch(DeferredReply asker) : reply(std::move(asker)) {}
  const DeferredReply reply;
  std::vector<Drained> sequences;
  std::size_t left = 0;   // of them that have not ended
  bool begun = false;     // all of them were requested to drain
  SequenceId remove = 0;  // this one, which is the only one, when it is drained; 0: none
};

void pack_drained(Packer& packer, const Drained& drained) {
  const DrainReport& report = drained.report;
  const IdProgression* const progression = drained.progression.get();
  packer.pack_map(progression == nullptr ? 9 : 10);
  pack_pair(packer, "name", drained.name);
  if (progression != nullptr) pack_pair(packer, "step", progression->form().increment);
  pack_pair(packer, "reuse", reuse_word(report.reuse));
  pack_spans(packer, "returned", progression, report.returned);
  pack_spans(packer, "gaps", progression, report.gaps);
  pack_said(packer, "why", report.why);
  pack_pair(packer, "returning", report.returning);
  pack_pair(packer, "available", report.available);
  pack_said(packer, "error", drained.error.ok() ? "" : drained.error.to_string());
  pack_pair(packer, "removed", drained.removed);
}

void answer(const Batch& batch) {
  batch.reply.result([&](protocol::Buffer& out) {
    Packer packer(out);
    packer.pack_array(static_cast<std::uint32_t>(batch.sequences.size()));
    for (const Drained& drained : batch.sequences) pack_drained(packer, drained);
  });
}

void answer_if_over(const std::shared_ptr<Batch>& batch) {
  if (!batch->begun || batch->left > 0) return;
  if (batch->remove == 0 || !batch->sequences.front().error.ok()) return answer(*batch);
  batch->reply.table.orders().remove(batch->remove, [batch](const Status& removed) {
    batch->sequences.front().error = removed;
    batch->sequences.front().removed = removed.ok();
    answer(*batch);
  });
}

}  // namespace

void method_drain(const MethodContext& context, Session& session,
                  const protocol::Message& message) {
  const Result<Wanted> wanted = read_wanted(context, message);
  if (!wanted.ok()) return answer_error(session, message.msgid, wanted.status());
  if (Status free = wanted->name ? Status() : check_slot(context, session.peer); !free.ok())
    return answer_error(session, message.msgid, free);
  const auto batch = std::make_shared<Batch>(
      defer(context, session, message, wanted->name.value_or(std::string_view())));
  std::vector<SequenceId> ids;
  if (wanted->name) {
    if (const Status status = check_leases(context, *wanted->name); !status.ok())
      return answer_error(session, message.msgid, status);
    const SequenceId id = context.table.find(*wanted->name);
    if (id == 0) {
      return answer_error(session, message.msgid,
                          {ErrorCode::NO_SEQUENCE, "this daemon has never had a range of \"" +
                                                       std::string(*wanted->name) + "\""});
    }
    if (context.table.at(id).draining().askers() >= kMostAskers) {
      return answer_error(session, message.msgid,
                          {ErrorCode::BUSY,
                           "\"" + std::string(*wanted->name) + "\" is being drained already, and " +
                               std::to_string(kMostAskers) + " requests wait for it"});
    }
    ids.push_back(id);
    if (wanted->remove) batch->remove = id;
  } else {
    context.drains_of_all.by_user[session.peer.uid] = batch;
    for (const Sequence* sequence : context.table.sequences().all()) ids.push_back(sequence->id());
  }
  asked(session, message, Status());
  raise_administered(context, session, "drain", wanted->name ? "SEQUENCE" : "",
                     wanted->name.value_or(std::string_view()));
  batch->sequences.resize(ids.size());
  batch->left = ids.size();
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const Sequence& sequence = context.table.at(ids[at]);
    Drained& drained = batch->sequences[at];
    drained.name = sequence.name();
    drained.progression = sequence.settings().progression.compiled;
    drained.report.reuse = sequence.settings().reuse;
    drained.error = context.table.orders().drain(
        ids[at], wanted->timeout_ms,
        [batch, at](const DrainReport& report) {
          batch->sequences[at].report = report;
          ASSERT(batch->left > 0);
          --batch->left;
          answer_if_over(batch);
        },
        wanted->remove);
    if (drained.error.ok()) continue;
    drained.report.available = sequence.available();
    --batch->left;
  }
  batch->begun = true;
  answer_if_over(batch);
}

}  // namespace seqd

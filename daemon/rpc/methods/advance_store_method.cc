// advance_store: raises the counter of every sequence of a store above all that this host leased
// from it, and every register to the highest number that this host knows, and on demand uses a
// store again that was put back from an older copy. What was raised by then is only compared: the
// copy may have been replaced by another. The answer comes when the store has answered for all of
// them.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/sequence/sequence_state.h"
#include "daemon/core/text/period.h"
#include "daemon/rpc/deferred_reply.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "daemon/rpc/register_records.h"
#include "daemon/rpc/rights.h"

namespace seqd {
namespace {

constexpr std::size_t kAtATime = 4;

struct Wanted {
  std::string_view store;
  bool resume = false;
};

Result<Wanted> read_wanted(const protocol::Message& message) {
  const Status usage(ErrorCode::BAD_REQUEST,
                     "advance_store takes the name of a store and, optionally, whether its "
                     "sequences continue: true or false");
  protocol::ValueReader params = message.params;
  if (message.param_count < 1 || message.param_count > 2) return usage;
  const std::optional<std::string_view> store = params.read_text();
  if (!store) return usage;
  if (message.param_count == 1) return Wanted{*store, false};
  const std::optional<bool> resume = params.read_bool();
  return resume ? Result<Wanted>(Wanted{*store, *resume}) : Result<Wanted>(usage);
}

// What one request raises. The callbacks of the store share it.
struct Batch : std::enable_shared_from_this<Batch> {
  Batch(DeferredReply asker, bool resumes, Registers* keeps, std::string by, UserId user)
      : reply(std::move(asker)),
        resume(resumes),
        registers(keeps),
        stamp(std::move(by)),
        asked_by(user) {}

  void go_on() {
    while (under_way < kAtATime && !registers_left.empty()) {
      const std::string name = std::move(registers_left.back());
      registers_left.pop_back();
      raise(name);
    }
    while (under_way < kAtATime && !left.empty()) {
      const SequenceId id = left.back();
      left.pop_back();
      if (!reply.table.sequences().contains(id)) continue;
      if (const Sequence& one = reply.table.at(id); !is_configured(one)) {
        note_failed(one.name(), one.stop_error());
        continue;
      }
      ++under_way;
      // Only compared: raised again, its floor would withdraw what other hosts that went on have
      // leased since.
      const Sequence& sequence = reply.table.at(id);
      const StoreScope& scope = sequence.scope();
      if (resume && scope.restored() && (scope.raised() || !awaits_advance(sequence))) {
        reply.table.scopes().read_floor(
            id, [self = shared_from_this(), name = sequence.name()](const Status& seen) {
              self->ended(name, seen, 0);
            });
        continue;
      }
      // For every host: ranges that are parked in an older copy, or that any host leased from it
      // meanwhile, may be in use already.
      reply.table.orders().advance(
          id, 0, true,
          [self = shared_from_this(), name = sequence.name()](const Result<std::int64_t>& reached) {
            self->ended(name, reached.status(), 1);
          });
    }
    if (under_way == 0 && left.empty() && registers_left.empty()) finish();
  }
  // Raised again, a register only changes if another copy is in place now.
  void raise(const std::string& name) {
    RegisterQueue::Wanted wanted;
    wanted.reason = "restored";
    wanted.by = stamp;
    wanted.session = reply.session;
    wanted.user = asked_by;
    wanted.done = [self = shared_from_this(), name](const Result<RegisterAnswer>& answer) {
      const bool closed = answer.ok() && answer->kind == RegisterAnswer::Kind::closed;
      self->ended(name,
                  closed ? Status(ErrorCode::SEQ_PERIOD_CLOSED, "it is closed in this copy")
                         : answer.status(),
                  self->resume ? 0 : 1);
    };
    const Status status = registers->raise(name, std::move(wanted));
    if (!status.ok()) return note_failed(name, status);
    ++under_way;
  }
  // By then the sequence may have been forgotten.
  void ended(const std::string& name, const Status& status, int raised) {
    ASSERT(under_way > 0);
    --under_way;
    if (status.ok()) {
      done += raised;
    } else {
      note_failed(name, status);
    }
    go_on();
  }
  void note_failed(const std::string& name, const Status& status) {
    ++failed;
    if (error.empty()) error = "\"" + name + "\": " + status.to_string();
  }
  void finish() {
    const StoreScope* scope = reply.table.scopes().find(reply.name);
    // The table keeps every scope until the daemon ends.
    ASSERT(scope != nullptr);
    const bool stopped = scope->restored();
    if (!resume && failed == 0) reply.table.scopes().note_raised(reply.name);
    const Status resumed =
        resume && failed == 0 ? reply.table.scopes().resume(reply.name) : Status();
    if (!resumed.ok()) return reply.fail(resumed);
    reply.result([&](protocol::Buffer& out) {
      Packer packer(out);
      packer.pack_map(5);
      pack_pair(packer, "raised", done);
      pack_pair(packer, "failed", failed);
      pack_said(packer, "error", error);
      pack_pair(packer, "resumed", stopped && !scope->restored());
      pack_pair(packer, "stopped", scope->restored());
    });
  }

  const DeferredReply reply;
  const bool resume;
  Registers* const registers;
  const std::string stamp;
  const UserId asked_by;
  std::vector<SequenceId> left;
  std::vector<std::string> registers_left;
  std::size_t under_way = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::string error;  // the first one
};

}  // namespace

void method_advance_store(const MethodContext& context, Session& session,
                          const protocol::Message& message) {
  const Result<Wanted> wanted = read_wanted(message);
  if (!wanted.ok()) return answer_error(session, message.msgid, wanted.status());
  const StoreScope* const scope = context.table.scopes().find(wanted->store);
  if (scope == nullptr || scope->store() == nullptr)
    return answer_error(session, message.msgid,
                        {ErrorCode::BAD_REQUEST,
                         "no store of that name is running; `seqctl status` lists the stores"});
  if (wanted->resume && !scope->refuses() && !scope->verified())
    return answer_error(
        session, message.msgid,
        {ErrorCode::UNAVAILABLE, "the store was not compared with the log yet; try again"});
  if (wanted->resume && scope->restored() && scope->heartbeat().age == StoreAge::replaced)
    return answer_error(session, message.msgid,
                        {ErrorCode::SEQ_REGRESSED,
                         "another copy of the database was put in place after its counters were "
                         "raised: raise the counters on every host that uses this store, then "
                         "resume"});
  if (const Status free = check_slot(context, session.peer); !free.ok())
    return answer_error(session, message.msgid, free);
  const auto batch =
      std::make_shared<Batch>(defer(context, session, message, wanted->store), wanted->resume,
                              context.registers, stamp_of(context, session), session.peer.uid);
  if (context.registers != nullptr) batch->registers_left = context.registers->known(wanted->store);
  context.drains_of_all.by_user[session.peer.uid] = batch;
  for (const Sequence* sequence : context.table.sequences().all()) {
    // A sequence whose counter is not configured fails: other hosts may lease from that counter.
    // They do not lease from the counter of a former period.
    const bool may_be_used = is_configured(*sequence) || period_of(sequence->name()).empty();
    if (&sequence->scope() == scope && may_be_used && sequence->definition().leased_below() > 0)
      batch->left.push_back(sequence->id());
    // It is to move to this store, and has not.
    if (&sequence->scope() != scope && sequence->settings().store == wanted->store)
      batch->note_failed(sequence->name(), sequence->stop_error());
  }
  asked(session, message, Status());
  raise_administered(context, session, "advance_store", "STORE", wanted->store);
  batch->go_on();
}

}  // namespace seqd

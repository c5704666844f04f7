// What the methods that issue IDs have in common: finding the sequence, recognizing repeats.
// Functions without state; loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/rpc/methods.h"
#include "daemon/rpc/session.h"

namespace seqd {

// The parameters of next and next_text; `name` lies in the message.
struct NextParameters {
  std::string_view name;
  std::int64_t timeout_ms = -1;  // the sequence's own
};
Result<NextParameters> read_next(const protocol::Message& message, std::string_view method);

struct IssueOptions {
  std::int64_t timeout_ms = -1;  // the sequence's own
  bool at_most = false;          // of range alone
};
Result<IssueOptions> read_issue_options(protocol::ValueReader& params, bool is_range);

// What an insert names as the connection that it was first sent on: no other one ever has this
// name, of this daemon or another. Empty where nothing inserts.
std::string connection_name(const MethodContext& context, const Session& session);

// The sequence of that name, if the user may take from it: not checked again for the sequence that
// the session used last under the same settings. Of a name that cannot be served now, the sequence
// that the request `msgid` was served from, if it is a repeat.
Result<SequenceId> look_up(const MethodContext& context, Session& session, std::uint32_t msgid,
                           std::string_view name);
// The same for a repeat alone; 0: the request is no repeat of one for that name.
SequenceId served_from(const MethodContext& context, const Session& session, std::uint32_t msgid,
                       std::string_view name);

// True when the request is to be served, as is any of a client without an identity; else it is
// answered already. `at_most`: a repeat may have been issued fewer IDs.
bool is_fresh_of_client(const MethodContext& context, Session& session, std::uint32_t msgid,
                        SequenceId sequence, IssueKind kind, std::int64_t count, bool at_most);
inline bool is_fresh(const MethodContext& context, Session& session, std::uint32_t msgid,
                     SequenceId sequence, IssueKind kind, std::int64_t count,
                     bool at_most = false) {
  return session.client == 0 ||
         is_fresh_of_client(context, session, msgid, sequence, kind, count, at_most);
}

void wait_for(const MethodContext& context, Session& session, std::uint32_t msgid,
              SequenceId sequence, IssueKind kind, std::int64_t count, std::int64_t timeout_ms);

// The ID of that ordinal, which was issued at the second `wall_s`, as the text that the format of
// today writes.
void answer_text(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::int64_t ordinal, std::int64_t wall_s);
// The text that was issued so; SEQ_CHANGED when the format of today writes another one.
void repeat_text(const SequenceTable& table, Session& session, std::uint32_t msgid,
                 const Issued& issue);

}  // namespace seqd

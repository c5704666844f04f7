// The part of sequence_table.h that says whether there is room for another sequence.
#include <algorithm>
#include <string>
#include <utility>

#include "daemon/core/table/sequence_table.h"
#include "daemon/core/text/period.h"

namespace seqd {
// Every connected user can make names that are in no table, and they stay.
Status SequenceTable::check_room(const DefineSequence& definition, bool named,
                                 std::optional<UserId> user) const {
  const std::size_t most = named ? limits_.sequences : share_of_unnamed(limits_.sequences);
  const std::string kept =
      named ? "" : "; the last quarter is kept for sequences with a table of their own";
  const std::string count = std::to_string(sequences_.size());
  const char* limit = "limits.max_sequences";
  std::string why;
  if (sequences_.size() >= most) {
    why = "there are " + count + " sequences already (limits.max_sequences)" + kept;
  } else if (!budgets_.may_define(definition, named)) {
    limit = "daemon.state_log_size";
    why = "the log has no room for more than these " + count +
          " sequences (daemon.state_log_size)" + kept;
  } else if (!named && user) {
    const auto places = std::min(static_cast<std::int64_t>(most - sequences_.size()),
                                 budgets_.room_for(definition));
    if (!accounts_.may_make(*user, places))
      why = "this user began to use " + std::to_string(accounts_.made_by(*user)) +
            " names that are in no table, " + std::to_string(places) +
            " are left (limits.max_sequences, daemon.state_log_size), and one user may not have "
            "all of them";
  }
  if (why.empty()) return {};
  Event event{EventKind::limit_reached, "another sequence was refused: " + why, {{"LIMIT", limit}}};
  if (user) event.fields.emplace_back("CLIENT_UID", std::to_string(*user));
  context_.events.raise(event);
  return {ErrorCode::BUSY, why};
}

}  // namespace seqd

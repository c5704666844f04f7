// HistoryAsker: the questions of the methods gaps, explain and audit to the history. Implemented in
// daemon/main; loop thread.
//
// Every question is answered once, later, on the loop thread, and includes everything that was
// issued before it; if the daemon ends first, it is not answered. BUSY when too many wait already,
// of that user or in all.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/user_id.h"
#include "daemon/core/history/history_answers.h"

namespace seqd {

class HistoryAsker {
 public:
  virtual ~HistoryAsker() = default;
  virtual Status ask_gaps(UserId user, const GapsQuestion& question,
                          std::function<void(Result<GapsAnswer>)> done) = 0;
  // `now` runs at the moment of which the answer is: what it reads of the core belongs to it.
  virtual Status ask_id(UserId user, const std::string& name, std::int64_t id,
                        std::function<void()> now, std::function<void(Result<IdAnswer>)> done) = 0;
  virtual Status ask_sums(UserId user, const std::string& name, std::function<void()> now,
                          std::function<void(Result<SumsAnswer>)> done) = 0;
};

}  // namespace seqd

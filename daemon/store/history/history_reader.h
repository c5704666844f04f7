// HistoryReader: the queries of `explain`, `gaps` and `audit`: the fate of an ID, the gaps, and the
// sums of a sequence, added up row by row. Blocking: on the worker of the HistoryFile, between two
// batches; or beside it, on a connection of its own (begin(), end()). A history that does not exist
// yet is empty, which is no error.
#pragma once

#include <initializer_list>
#include <string>

#include "daemon/core/history/history_answers.h"
#include "daemon/store/history/history_database.h"

namespace seqd {

class HistoryReader {
 public:
  explicit HistoryReader(HistoryDatabase& database) : database_(database) {}

  Result<GapsAnswer> gaps(const GapsQuestion& question);
  Result<IdAnswer> id(const std::string& name, std::int64_t id);
  Result<SumsAnswer> sums(const std::string& name);

  // Between the two, what others write is not seen. A history that is not there: OK.
  Status begin();
  void end();

 private:
  // 0: there is none of that name.
  Result<std::int64_t> sequence_row(const std::string& name);
  Status read_issue(std::int64_t row, std::int64_t id, IdAnswer& answer);
  Status read_callers(std::int64_t first, std::string_view others, IssueRow& issue);
  Status read_lease(std::int64_t row, std::int64_t id, IdAnswer& answer);
  Status read_advance(std::int64_t row, std::int64_t id, IdAnswer& answer);
  Status read_gap(std::int64_t row, std::int64_t id, IdAnswer& answer);
  Status read_overlaps(std::int64_t row, SumsAnswer& answer);
  // Runs a question whose answer is one row, or none, and gives its columns to `take`.
  template <typename Take>
  Status one_row(const char* sql, std::initializer_list<std::int64_t> parameters, Take take);

  HistoryDatabase& database_;
};

}  // namespace seqd

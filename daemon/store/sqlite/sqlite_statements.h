// SqliteStatements: what a SqliteStore runs, compiled once for each connection. Owned by the store.
#pragma once

#include "daemon/store/sqlite/sqlite_connection.h"

namespace seqd {

struct SqliteStatements {
  SqliteStatement begin, commit, rollback;
  SqliteStatement mark, keep, undo;  // a savepoint: one member of a batch
  SqliteStatement read_counter, create_counter, write_counter;
  SqliteStatement find_token, insert_token, prune_tokens;
  SqliteStatement add_total, subtract_total, read_totals, sum_parked;
  SqliteStatement park, find_parked, take_parked, was_parked, prune_parked, drop_parked;
  SqliteStatement read_floor, raise_floor;
  SqliteStatement read_commits, write_commits, mark_older;
  SqliteStatement read_epoch, create_epoch, write_epoch, read_beat, write_beat;
};

}  // namespace seqd

// SqliteStatements: what a SqliteStore runs, compiled once for each connection. Owned by the store.
#pragma once

#include "daemon/store/sqlite/sqlite_connection.h"

namespace seqd {

struct SqliteStatements {
  SqliteStatement begin;
  SqliteStatement commit;
  SqliteStatement rollback;
  // A savepoint: one member of a batch.
  SqliteStatement mark;
  SqliteStatement keep;
  SqliteStatement undo;
  SqliteStatement read_counter;
  SqliteStatement create_counter;
  SqliteStatement write_counter;
  SqliteStatement find_token;
  SqliteStatement insert_token;
  SqliteStatement prune_tokens;
  SqliteStatement add_total;
  SqliteStatement subtract_total;
  SqliteStatement read_totals;
  SqliteStatement sum_parked;
  SqliteStatement park;
  SqliteStatement find_parked;
  SqliteStatement take_parked;
  SqliteStatement was_parked;
  SqliteStatement prune_parked;
  SqliteStatement drop_parked;
  SqliteStatement read_floor;
  SqliteStatement raise_floor;
  SqliteStatement read_commits;
  SqliteStatement write_commits;
  SqliteStatement mark_older;
  SqliteStatement read_epoch;
  SqliteStatement create_epoch;
  SqliteStatement write_epoch;
  SqliteStatement read_beat;
  SqliteStatement write_beat;
};

}  // namespace seqd

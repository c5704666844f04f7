// How a SqliteStore begins and ends a transaction, and notices that its file is an older copy: a
// part of sqlite_store.h.
#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

Status SqliteStore::begin() {
  Status status = open_file();
  if (status.ok()) status = connection_->check_in_place();
  return status.ok() ? run(statements_.begin) : status;
}

// The number of changes is read inside the transaction, so it is that of a commit.
Status SqliteStore::begin_change(OlderCopy older) {
  Status status = begin();
  if (!status.ok()) return status;
  std::int64_t commits = 0;
  {
    SqliteQuery query(statements_.read_commits);
    const int code = query.step();
    if (code == SQLITE_ROW) commits = query.integer(0);
    if (code != SQLITE_ROW && code != SQLITE_DONE) status = connection_->error();
  }
  if (status.ok()) status = commit_mark_.begin(commits);
  if (status.ok() && commit_mark_.older()) {
    if (older == OlderCopy::refused) {
      status = commit_mark_.older_copy("SQLite file " + path_);
      remember_older_copy();
    }
    if (older == OlderCopy::accepted) commit_mark_.accept();
  }
  if (!status.ok()) roll_back();
  return status;
}

// In the file itself: the commit mark is gone after a reboot. Where it cannot be written, it is met
// again as long as the mark is there.
void SqliteStore::remember_older_copy() {
  if (run(statements_.mark_older).ok()) static_cast<void>(run(statements_.commit));
}

// An older copy does not count, so that it is not taken for the right database after some changes.
Status SqliteStore::count_commit() {
  if (commit_mark_.older()) return {};
  SqliteQuery query(statements_.write_commits);
  return query.bind(1, commit_mark_.next()).step() == SQLITE_DONE ? Status() : connection_->error();
}

void SqliteStore::roll_back() {
  commit_mark_.release();
  if (!connection_) return;
  // Some errors (a full disk) have ended the transaction already; then there is nothing to do.
  if (connection_->in_transaction()) static_cast<void>(run(statements_.rollback));
}

Status SqliteStore::commit(bool* maybe_applied) {
  *maybe_applied = false;
  if (Status counted = count_commit(); !counted.ok()) return counted;
  SqliteQuery query(statements_.commit);
  const int code = query.step();
  if (code == SQLITE_DONE) {
    // What was committed to a file that was replaced is never used: a process that opens the other
    // file may lease the same.
    *maybe_applied = true;
    Status in_place = connection_->check_in_place();
    if (in_place.ok() && !commit_mark_.older()) commit_mark_.raise(commit_mark_.next());
    commit_mark_.release();
    return in_place;
  }
  // A full disk or a foreign lock stops a commit before its last frame is written. Everything else,
  // a failed flush above all, may have left a complete transaction in the log.
  const int kind = code & 0xff;
  *maybe_applied = kind != SQLITE_FULL && kind != SQLITE_BUSY;
  return connection_->error();
}

}  // namespace seqd

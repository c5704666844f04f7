// SqliteCommitMark: how many changes of a database are known to be committed, in memory of this
// boot and outside the directory of the database. A database that counts fewer changes was put back
// from an older copy, or another copy of it is in use on this host, even where the log of the state
// directory went back with it. Owned by the SqliteStore, whose lock guards it.
//
// The value is one 64-bit word with a check, so a kill leaves the former or the new one. What is no
// such word counts as none. It is locked from the comparison to the end of the transaction: two
// copies cannot both pass the comparison and commit.
//
// Invariant: it is never above what was committed. A kill after a commit leaves it lower; the next
// transaction raises it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/base/files/files.h"
#include "daemon/base/status.h"
#include "daemon/core/words/token.h"

namespace seqd {

// What a transaction does with an older copy. `used`: it changes it, and it stays an older copy.
// `accepted`: from its commit on it is the right database.
enum class OlderCopy : std::uint8_t { refused, used, accepted };

class SqliteCommitMark {
 public:
  static constexpr std::size_t size = 8;  // bytes

  // The file of a database in the witness directory.
  static std::string name(const Token& identity);

  // `directory` is in memory of this boot and outlives this; null: nothing is compared.
  SqliteCommitMark(Directory* directory, int patience_ms)
      : directory_(directory), patience_ms_(patience_ms) {}

  void set_identity(const Token& identity) { name_ = name(identity); }

  // A transaction has begun on a database that counts `commits`; a negative number is that of one
  // that was found to be an older copy before. Locks the commit mark until
  // release(). UNAVAILABLE: another process holds it for too long.
  Status begin(std::int64_t commits);
  // The database is an older copy.
  bool older() const { return older_; }
  // Why it must not be used. SEQ_REGRESSED.
  Status older_copy(const std::string& where) const;
  // An operator has raised its counters: it is used from here on.
  void accept() { older_ = false; }
  // What the database has to count when this transaction is committed.
  std::int64_t next() const;
  // Certainly committed.
  void raise(std::int64_t commits);
  void release() { memory_.reset(); }

 private:
  Status lock();

  Directory* const directory_;
  const int patience_ms_;
  std::string name_;
  std::unique_ptr<SharedMemory> memory_;  // null: not locked
  std::int64_t known_ = 0;                // the highest value that this process has seen
  std::int64_t commits_ = 0;              // of the transaction
  bool older_ = false;
};

}  // namespace seqd

// How a SqliteStore opens its file: a part of sqlite_store.h.
#include "daemon/store/sqlite/sqlite_store.h"

namespace seqd {

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteStoreOptions& options) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(options));
  if (Status status = store->open_file(); !status.ok()) return status;
  return store;
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open_when_available(
    const SqliteStoreOptions& options) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(options));
  const Status status = store->open_file();
  if (!status.ok() && status.code() != ErrorCode::UNAVAILABLE) return status;
  return store;
}

Status SqliteStore::open_file() {
  if (connection_) return {};
  auto connection = SqliteConnection::open(path_, busy_timeout_ms_);
  if (!connection.ok()) return connection.status();
  connection_ = std::move(*connection);
  Status status = prepare();
  if (status.ok()) status = read_identity();
  if (status.ok()) {
    commit_mark_.set_identity(identity_);
    identified_ = true;
  } else {
    statements_ = {};
    connection_.reset();
  }
  return status;
}

StorePlace SqliteStore::place() const {
  StorePlace place{"sqlite " + path_, {}};
  if (identified_) place.identity = identity_;
  return place;
}

// It was made with the tables.
Result<Token> SqliteStore::identify(const Token& /*candidate*/) {
  const std::lock_guard lock(mutex_);
  if (Status status = open_file(); !status.ok()) return status;
  return identity_;
}

}  // namespace seqd

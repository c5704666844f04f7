// SqliteRegister: the registers in the file of a SqliteStore, inside a transaction that the store
// begins and ends. The tables are made with the first number; a file without a register has none.
// Lives as long as the transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/registers/register_store.h"
#include "daemon/store/sqlite/sqlite_connection.h"

namespace seqd {

class SqliteRegister {
 public:
  // Number and meaning of a counter whose name a register has: every version refuses to lease it.
  static constexpr std::string_view kMark = "register";

  SqliteRegister(SqliteConnection& connection, const RegisterPlace& place)
      : connection_(connection), place_(place) {}

  Result<RegisterReading> read(const RegisterQuery& query);
  Result<std::vector<NumberRecord>> page(const RegisterPageQuery& query);
  // False: the register is not as it was read, and nothing is changed.
  Result<bool> apply(const RegisterChange& change);

 private:
  struct Highest {
    std::int64_t number = 0;
    bool closed = false;
  };

  // Whether there are tables.
  Result<bool> open();
  Status create();
  // Marks the counters of that name as a register's: no daemon leases from them.
  Status claim_name();
  // Binds ?1 and ?2, which are the name of the register and its period everywhere.
  SqliteQuery& of_period(SqliteQuery& query) const;
  Result<Highest> highest();
  // The records that a statement with the columns of kRecord gives, with their former keys.
  Result<std::vector<NumberRecord>> records(SqliteQuery& query);
  Result<std::optional<NumberRecord>> one(SqliteQuery& query);
  Status read_former(NumberRecord& record);
  // Whether the statement changed a row: it returns one.
  Result<bool> changes(SqliteQuery& query);
  Result<bool> add(const RegisterChange& change, std::string_view state);
  Result<bool> add_void(const RegisterChange& change);
  Result<bool> refill(const RegisterChange& change);
  Result<bool> confirm(const RegisterChange& change);
  Result<bool> cancel(const RegisterChange& change);
  Result<bool> close(const RegisterChange& change);

  SqliteConnection& connection_;
  const RegisterPlace& place_;
};

}  // namespace seqd

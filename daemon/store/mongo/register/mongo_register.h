// MongoRegister: one period of a register in a MongoDB store, for the time of one call: what is
// read of it, and the end of a close. The documents are in mongo_register_format.h, changes in
// mongo_register_write.h. Blocking; refers to the clients and the place.
//
// There are no transactions, as a server alone has none: each change is one conditional write of
// one document, by majority and journal. Why that is enough, by the rules of
// tests/model/register.pml:
//
//   add      inserts number n behind the highest that a majority has: documents are never removed,
//            so n - 1 stays, and _id refuses n where others took it, or where the end is.
//   refill   compares state, the length of `former` and the keys in it; the unique index refuses a
//            key that has a number, in this period or another one.
//   close    inserts the end under the next number: nothing is added from then on. But a write that
//            was decided before could still make a number free, or refill it. So the close then
//            marks, in one pass, all that is assigned or free as `ended`; a refill, and a cancel
//            that makes free, require that there is no such mark. The pass finds every number:
//            there come no new ones, their order is fixed, and on the way from assigned to free and
//            back each is found as either; what is confirmed or void stays so. Then it makes void
//            what is free, and says so in the end (`swept`). Nobody says that a period is closed
//            before that is there: who finds an end without it does the rest. All of it can be
//            done twice.
//   read     the highest first, then what is free, then keys and numbers, which must be the newest:
//            an older copy says of a cancelled key that it has the number. The others may be older;
//            a change that was decided by them is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/registers/register_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"

namespace seqd {

class MongoRegister {
 public:
  MongoRegister(MongoClients& clients, const RegisterPlace& place);

  struct Highest {
    std::int64_t number = 0;
    bool closed = false;
    bool swept = false;  // the close is complete
  };
  Result<Highest> highest();
  Result<RegisterReading> read(const RegisterQuery& query);
  Result<std::vector<NumberRecord>> page(const RegisterPageQuery& query);

  // What read() or highest() has found: an end, and a close that is not complete.
  bool has_to_finish() const { return unswept_ != 0; }
  // The rest of a close whose end is under this number. An error: it is not complete yet.
  Status finish_close(std::int64_t end);
  Status finish_close() { return finish_close(unswept_); }

 private:
  Status read_free(const RegisterQuery& query, RegisterReading& reading);
  Status read_keys(const RegisterQuery& query, RegisterReading& reading);
  Status read_numbers(const RegisterQuery& query, RegisterReading& reading);
  Status update_all(const Document& filter, const Document& update);

  MongoClients& clients_;
  const RegisterPlace& place_;
  const std::string where_;
  std::int64_t unswept_ = 0;  // the number of the end
};

}  // namespace seqd

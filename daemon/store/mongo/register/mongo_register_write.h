// MongoRegisterWrite: one write to a register in a MongoDB store, whose changes are applied one
// after another; adds that follow each other are one ordered insert. See mongo_register.h. One
// thread; used once; refers to the clients and the write.
//
// Invariant: `changed` and `failed` only where it is proven that the change was not applied and is
// not applied later; what has no answer is `unknown`, and nothing is sent behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/core/registers/register_store.h"
#include "daemon/store/mongo/driver/mongo_client.h"
#include "daemon/store/mongo/register/mongo_register.h"

namespace seqd {

class MongoRegisterWrite {
 public:
  MongoRegisterWrite(MongoClients& clients, const RegisterWrite& write)
      : clients_(clients),
        place_(write.place),
        changes_(write.changes),
        register_(clients, write.place) {}

  RegisterOutcome run();

 private:
  // `done`: of those from `at` on.
  RegisterOutcome apply(std::size_t at);
  RegisterOutcome add(std::size_t at);
  RegisterOutcome refill(const RegisterChange& change);
  RegisterOutcome confirm(const RegisterChange& change);
  RegisterOutcome cancel(const RegisterChange& change);
  RegisterOutcome close(const RegisterChange& change);
  // What has to be known before a number is added: the highest, and that keys are unique.
  Status prepare();
  RegisterOutcome insert(const std::vector<Document>& documents);
  RegisterOutcome send(MongoWrite write);
  // A write of the number, which relies on its state.
  MongoWrite write_of(std::int64_t number, NumberState state) const;

  MongoClients& clients_;
  const RegisterPlace& place_;
  const std::vector<RegisterChange>& changes_;
  MongoRegister register_;
  std::int64_t next_ = 0;  // what an add or the close has to name
  bool is_first_ = false;  // the period has no number yet
  bool closed_ = false;
};

}  // namespace seqd

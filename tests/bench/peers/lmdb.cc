// LMDB: one write transaction a request, which reads and writes the number. --address is a
// directory; the variant "nosync" opens it with MDB_NOSYNC, without which a commit waits for the
// disk.
#include <lmdb.h>

#include <cstring>

#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

void check(int code) {
  if (code != MDB_SUCCESS) fail(mdb_strerror(code));
}

// A process may open an environment once, so all clients share it. It lives until the program ends.
struct Environment {
  explicit Environment(const Options& options) {
    check(mdb_env_create(&handle));
    const unsigned flags = options.variant == "nosync" ? MDB_NOSYNC : 0;
    check(mdb_env_open(handle, options.address.c_str(), flags, 0600));
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(handle, nullptr, 0, &transaction));
    check(mdb_dbi_open(transaction, nullptr, 0, &database));
    check(mdb_txn_commit(transaction));
  }
  MDB_env* handle = nullptr;
  MDB_dbi database = 0;
};

class Lmdb final : public Client {
 public:
  Lmdb(const Environment& environment, const Options& options)
      : environment_(environment), name_(options.name), count_(options.count) {}

  void take() override {
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_.handle, nullptr, 0, &transaction));
    MDB_val key = {name_.size(), name_.data()};
    MDB_val value = {};
    std::int64_t number = 0;
    const int found = mdb_get(transaction, environment_.database, &key, &value);
    if (found != MDB_NOTFOUND) {
      check(found);
      std::memcpy(&number, value.mv_data, sizeof(number));
    }
    std::int64_t after = number + count_;
    value = {sizeof(after), &after};
    check(mdb_put(transaction, environment_.database, &key, &value, 0));
    check(mdb_txn_commit(transaction));
    check_id(number + 1);
  }

 private:
  const Environment& environment_;
  std::string name_;
  const std::int64_t count_;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    static const seqd::bench::Environment environment(options);
    return std::make_unique<seqd::bench::Lmdb>(environment, options);
  });
}

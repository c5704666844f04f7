// libpq on PostgreSQL: a prepared `SELECT nextval(...)`; pipelined in libpq's pipeline mode.
// --address is the directory of the server's socket, --name the sequence.
#include <libpq-fe.h>

#include <cstdlib>

#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

class Postgresql final : public Client {
 public:
  explicit Postgresql(const Options& options)
      : connection_(PQconnectdb(("host=" + options.address +
                                 " dbname=postgres user=postgres connect_timeout=10"
                                 " options='-c statement_timeout=10s'")
                                    .c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) stop();
    const std::string query = "SELECT nextval('" + options.name + "')";
    PGresult* prepared = PQprepare(connection_, kStatement, query.c_str(), 0, nullptr);
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK) stop();
    PQclear(prepared);
    if (options.depth > 1 && PQenterPipelineMode(connection_) != 1) stop();
  }
  ~Postgresql() override { PQfinish(connection_); }
  Postgresql(const Postgresql&) = delete;
  Postgresql& operator=(const Postgresql&) = delete;

  void take() override {
    check(PQexecPrepared(connection_, kStatement, 0, nullptr, nullptr, nullptr, kText));
  }

  void take_pipelined(std::size_t depth) override {
    for (std::size_t sent = 0; sent < depth; ++sent) {
      if (PQsendQueryPrepared(connection_, kStatement, 0, nullptr, nullptr, nullptr, kText) != 1) {
        stop();
      }
    }
    if (PQpipelineSync(connection_) != 1) stop();
    for (std::size_t received = 0; received < depth; ++received) {
      check(PQgetResult(connection_));
      if (PQgetResult(connection_) != nullptr) fail("more than one result of a statement");
    }
    PGresult* synchronized = PQgetResult(connection_);
    if (PQresultStatus(synchronized) != PGRES_PIPELINE_SYNC) stop();
    PQclear(synchronized);
  }

 private:
  static constexpr char kStatement[] = "next";
  static constexpr int kText = 0;  // results as text

  [[noreturn]] void stop() { fail(PQerrorMessage(connection_)); }

  void check(PGresult* result) {
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) stop();
    check_id(std::strtoll(PQgetvalue(result, 0, 0), nullptr, 10));
    PQclear(result);
  }

  PGconn* const connection_;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    return std::make_unique<seqd::bench::Postgresql>(options);
  });
}

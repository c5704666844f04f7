// libmongoc on mongod: findAndModify with $inc on one document, acknowledged by the majority and
// its journal. --address is the server's URI, --name the document's _id.
#include <mongoc/mongoc.h>

#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

class Mongodb final : public Client {
 public:
  explicit Mongodb(const Options& options)
      : client_(mongoc_client_new(options.address.c_str())),
        opts_(mongoc_find_and_modify_opts_new()),
        query_(BCON_NEW("_id", BCON_UTF8(options.name.c_str()))) {
    if (client_ == nullptr) fail("not a URI: " + options.address);
    collection_ = mongoc_client_get_collection(client_, "bench", "counters");
    bson_t* update = BCON_NEW("$inc", "{", "seq", BCON_INT64(options.count), "}");
    bson_t* durable = BCON_NEW("writeConcern", "{", "w", BCON_UTF8("majority"), "j",
                               BCON_BOOL(true), "wtimeout", BCON_INT32(10'000), "}");
    mongoc_find_and_modify_opts_set_update(opts_, update);
    mongoc_find_and_modify_opts_append(opts_, durable);
    mongoc_find_and_modify_opts_set_flags(
        opts_, static_cast<mongoc_find_and_modify_flags_t>(MONGOC_FIND_AND_MODIFY_UPSERT |
                                                           MONGOC_FIND_AND_MODIFY_RETURN_NEW));
    bson_destroy(update);
    bson_destroy(durable);
  }
  ~Mongodb() override {
    bson_destroy(query_);
    mongoc_find_and_modify_opts_destroy(opts_);
    mongoc_collection_destroy(collection_);
    mongoc_client_destroy(client_);
  }
  Mongodb(const Mongodb&) = delete;
  Mongodb& operator=(const Mongodb&) = delete;

  void take() override {
    bson_t reply;
    bson_error_t error;
    if (!mongoc_collection_find_and_modify_with_opts(collection_, query_, opts_, &reply, &error)) {
      fail(error.message);
    }
    bson_iter_t at;
    bson_iter_t seq;
    if (!bson_iter_init(&at, &reply) || !bson_iter_find_descendant(&at, "value.seq", &seq)) {
      fail("a reply without the number");
    }
    check_id(bson_iter_as_int64(&seq));
    bson_destroy(&reply);
  }

 private:
  mongoc_client_t* const client_;
  mongoc_find_and_modify_opts_t* const opts_;
  bson_t* const query_;
  mongoc_collection_t* collection_ = nullptr;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  mongoc_init();
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    return std::make_unique<seqd::bench::Mongodb>(options);
  });
}

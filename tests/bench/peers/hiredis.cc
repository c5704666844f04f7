// hiredis on Redis: INCR, or INCRBY when a request takes more than one ID; pipelined
// redisAppendCommand and redisGetReply. --address is the server's socket.
#include <hiredis/hiredis.h>

#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

constexpr timeval kPatience = {10, 0};

class Hiredis final : public Client {
 public:
  explicit Hiredis(const Options& options)
      : context_(redisConnectUnix(options.address.c_str())),
        command_(options.count == 1
                     ? "INCR " + options.name
                     : "INCRBY " + options.name + " " + std::to_string(options.count)) {
    if (context_ == nullptr || context_->err != 0) fail("hiredis cannot connect");
    redisSetTimeout(context_, kPatience);
  }
  ~Hiredis() override { redisFree(context_); }
  Hiredis(const Hiredis&) = delete;
  Hiredis& operator=(const Hiredis&) = delete;

  void take() override { check(redisCommand(context_, command_.c_str())); }

  void take_pipelined(std::size_t depth) override {
    for (std::size_t sent = 0; sent < depth; ++sent) {
      if (redisAppendCommand(context_, command_.c_str()) != REDIS_OK) fail("redisAppendCommand");
    }
    for (std::size_t received = 0; received < depth; ++received) {
      void* reply = nullptr;
      if (redisGetReply(context_, &reply) != REDIS_OK) fail("redisGetReply");
      check(reply);
    }
  }

 private:
  static void check(void* found) {
    auto* reply = static_cast<redisReply*>(found);
    if (reply == nullptr || reply->type != REDIS_REPLY_INTEGER) fail("no number from Redis");
    check_id(reply->integer);
    freeReplyObject(reply);
  }

  redisContext* const context_;
  const std::string command_;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    return std::make_unique<seqd::bench::Hiredis>(options);
  });
}

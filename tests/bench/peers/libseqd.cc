// libseqd on seqd: seqd_next, or seqd_range when a request takes more than one ID; pipelined
// seqd_submit_next and seqd_poll. --address is the daemon's socket; --variant busy-poll looks for
// each reply without sleeping.
#include <vector>

#include "client-lib/seqd.h"
#include "tests/bench/peers/peer.h"

namespace seqd::bench {
namespace {

constexpr int kPollMs = 10'000;
constexpr std::int64_t kBusyPollUs = 10'000;

class Libseqd final : public Client {
 public:
  explicit Libseqd(const Options& options) : name_(options.name), count_(options.count) {
    seqd_options settings = SEQD_OPTIONS_INIT;
    settings.socket_path = options.address.c_str();
    if (options.variant == "busy-poll") settings.busy_poll_us = kBusyPollUs;
    check(seqd_open(&settings, &client_));
  }
  ~Libseqd() override { seqd_close(client_); }
  Libseqd(const Libseqd&) = delete;
  Libseqd& operator=(const Libseqd&) = delete;

  void take() override {
    if (count_ == 1) {
      std::int64_t id = 0;
      check(seqd_next(client_, name_.c_str(), &id));
      check_id(id);
    } else {
      const seqd_run* runs = nullptr;
      std::size_t run_count = 0;
      check(seqd_range(client_, name_.c_str(), count_, &runs, &run_count));
      check_id(run_count == 0 ? 0 : runs[0].first);
    }
  }

  void take_pipelined(std::size_t depth) override {
    for (std::size_t sent = 0; sent < depth; ++sent) {
      check(seqd_submit_next(client_, name_.c_str(), nullptr));
    }
    replies_.resize(depth);
    while (depth > 0) {
      std::size_t used = 0;
      check(
          seqd_poll(client_, kPollMs, replies_.data(), sizeof(seqd_reply), replies_.size(), &used));
      if (used == 0) fail("no reply for ten seconds");
      for (std::size_t at = 0; at < used; ++at) {
        if (replies_[at].code != SEQD_OK) fail(replies_[at].text);
        check_id(replies_[at].id);
      }
      depth -= used;
    }
  }

 private:
  void check(int code) {
    if (code != SEQD_OK) fail(seqd_last_error(client_));
  }

  const std::string name_;
  const std::int64_t count_;
  seqd_client* client_ = nullptr;
  std::vector<seqd_reply> replies_;
};

}  // namespace
}  // namespace seqd::bench

int main(int argc, char** argv) {
  return seqd::bench::run_peer(argc, argv, [](const seqd::bench::Options& options) {
    return std::make_unique<seqd::bench::Libseqd>(options);
  });
}

// Thief: a program of another user that has come to know the identity of a client with blocks, and
// asks for its page, above all when the daemon has just started and the client is not back. What it
// gets must not be the page that the other one still takes from. Belongs to the simulation; one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "protocol/requests.h"
#include "tests/sim/clients/connection.h"
#include "tests/sim/site.h"

namespace seqd::sim {

class Thief final : public ConnectionUser {
 public:
  // `choose`: an identity that somebody uses at that site; nothing: there is none.
  using Choose = std::function<std::optional<protocol::Identity>()>;

  Thief(Stage& stage, Site& site, Choose choose)
      : stage_(stage), site_(site), choose_(std::move(choose)) {}

  // Does one thing, and comes back after a while.
  void act();
  void reply_left(Connection& connection, const protocol::Message& reply) override;
  void connection_ended(Connection& connection) override;

 private:
  static constexpr UserId kUser = 2'000;
  static constexpr std::uint32_t kHello = 1;
  static constexpr std::uint32_t kPage = 2;

  void connect();
  void ask_page();

  Stage& stage_;
  Site& site_;
  const Choose choose_;
  std::shared_ptr<Connection> connection_;
  std::int64_t process_ = 0;  // of the daemon that it came to last
  bool asked_ = false;        // for the page, together with its hello
};

}  // namespace seqd::sim

// RpcWorld: a Server over a CoreWorld, and clients that are strings of bytes: what the daemon is
// without sockets and disks. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rpc/server.h"
#include "tests/unit/memory_register.h"
#include "tests/unit/scripted_inserts.h"
#include "tests/unit/scripted_purges.h"
#include "tests/unit/world.h"

namespace seqd {

class ScriptedControl final : public Control {
 public:
  DaemonFacts facts() const override { return now; }
  Status reload(UserId /*user*/, std::function<void(const Result<ReloadReport>&)> done) override {
    if (!next_refusal.ok()) return next_refusal;
    done(next_reload);
    return {};
  }
  DaemonFacts now{"0.1.0", 77, "00112233445566778899aabbccddeeff", "fresh", 5, {}, 1, 2, 3};
  Result<ReloadReport> next_reload = ReloadReport{};
  Result<ConfigPage> config(const ConfigQuestion& question) const override {
    asked_config = question;
    return next_config;
  }
  mutable ConfigQuestion asked_config;
  Result<ConfigPage> next_config = ConfigPage{};
  UserId user() const override { return kUser; }
  const UserList& admins() const override { return listed; }
  UserList listed{false, {1'000}, {}};  // as administrators
  Status decommission(const DecommissionRequest& request,
                      std::function<void(const DecommissionAnswer&)> done) override {
    asked = request;
    answer_decommission = std::move(done);
    return next_refusal;
  }
  static constexpr std::uint32_t kUser = 500;
  std::optional<DecommissionRequest> asked;  // for a decommission, last
  std::function<void(const DecommissionAnswer&)> answer_decommission;
  Status next_refusal;
};

// Questions wait for the end of the turn, as they do for the worker; then all get these answers.
class ScriptedHistory final : public HistoryAsker {
 public:
  Status ask_gaps(UserId /*user*/, const GapsQuestion& question,
                  std::function<void(Result<GapsAnswer>)> done) override {
    asked = question;
    return ask([this, done] { done(gaps); });
  }
  Status ask_id(UserId /*user*/, const std::string& name, std::int64_t position,
                std::function<void()> now, std::function<void(Result<IdAnswer>)> done) override {
    asked_id = {name, position};
    return ask([this, now, done] {
      now();
      done(id);
    });
  }
  Status ask_sums(UserId /*user*/, const std::string& /*name*/, std::function<void()> now,
                  std::function<void(Result<SumsAnswer>)> done) override {
    return ask([this, now, done] {
      now();
      done(sums);
    });
  }
  // True when there was a question.
  bool deliver();

  GapsQuestion asked;
  std::pair<std::string, std::int64_t> asked_id;
  Result<GapsAnswer> gaps = GapsAnswer{};
  Result<IdAnswer> id = IdAnswer{};
  Result<SumsAnswer> sums = SumsAnswer{};
  Status refusal;  // of the next questions
  std::vector<std::function<void()>> waiting;

 private:
  Status ask(std::function<void()> answer) {
    if (refusal.ok()) waiting.push_back(std::move(answer));
    return refusal;
  }
};

// One reply, with a copy of its bytes.
struct Reply {
  std::uint32_t msgid = 0;
  ErrorCode code = ErrorCode::OK;
  std::string text;  // of the error
  std::string frame;

  // The result as one of these; aborts when it is something else.
  std::int64_t id() const;
  std::vector<Run> runs() const;
  protocol::ValueReader result() const;
};

// One connection: what was sent and not yet taken, and what came back.
struct Line final : Transport {
  void attend() override { ++attended; }
  Session* session = nullptr;  // null when closed
  std::string unread;          // sent by the client, not yet taken in
  std::string received;        // not yet parsed by the client
  int attended = 0;
  bool takes_replies = true;  // false: the client does not read

  // All whole replies that have arrived.
  std::vector<Reply> replies();
};

class RpcWorld {
 public:
  explicit RpcWorld(std::uint64_t seed = 1) : core(seed) {}
  ~RpcWorld() { kill(); }
  RpcWorld(const RpcWorld&) = delete;
  RpcWorld& operator=(const RpcWorld&) = delete;

  // With the sequence "orders" configured.
  void start();
  void kill();
  Line& connect(UserId uid = 1'000, std::vector<GroupId> groups = {}, std::int32_t pid = 1);
  void hang_up(Line& line);
  // The bytes arrive; nothing is answered before turn().
  void send(Line& line, std::string_view bytes);
  // One turn: what was put off, the core, the log, the replies.
  void turn();
  // Turns, flushes and answers of the store until nothing moves.
  void settle();
  // Sends, settles, and gives the replies.
  std::vector<Reply> call(Line& line, std::string_view bytes);
  // The same for one request.
  Reply ask(Line& line, std::string_view bytes);

  CoreWorld core;
  ScriptedControl control;
  ScriptedHistory history;
  std::unique_ptr<HistoryRecorder> recorder;  // of the process
  ScriptedInserts inserts;
  std::unique_ptr<InsertQueues> queues;  // of the process
  ScriptedPurges purges;
  MemoryRegister numbers;
  std::unique_ptr<Purge> purge;  // of the process
  std::unique_ptr<Registers> registers;
  ServerLimits limits;
  bool keeps_history = true;
  std::unique_ptr<Sessions> sessions;  // of the process, and what follows
  std::unique_ptr<ReplyWriter> replies;
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<Line>> lines;

 private:
  void take_in(Line& line);

  SeededRandom run_random_{99};
};

// Requests as bytes, in the encodings of our own client.
std::string next_request(std::uint32_t msgid, std::string_view name,
                         std::optional<std::int64_t> timeout_ms = std::nullopt);
std::string range_request(std::uint32_t msgid, std::string_view name, std::int64_t count,
                          std::optional<std::int64_t> timeout_ms = std::nullopt);
std::string peek_request(std::uint32_t msgid, std::string_view name);
std::string plain_request(std::uint32_t msgid, std::string_view method);
std::string hello_request(std::uint32_t msgid, std::uint8_t identity);
std::string ack_notification(std::uint32_t below);

}  // namespace seqd

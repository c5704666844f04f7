// LoopDaemon: the daemon's real loop, listener and connections over a core whose log and store are
// in memory, and clients that are plain sockets on the same thread. Nothing sleeps: the loop is run
// until something has come true. Owned by the test; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/uv/listener.h"
#include "tests/unit/rpc_world.h"

namespace seqd::testing {

class LoopClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const override;
  std::int64_t wall_ms() const override { return 1'700'000'000'000; }
};

// The client's end of one connection; never blocks.
class SocketClient {
 public:
  explicit SocketClient(const std::string& path);
  ~SocketClient();
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  // Sends what the socket takes and returns how many bytes that were.
  std::size_t send(std::string_view bytes);
  // Sends no more, goes on reading.
  void end_input();
  void close();
  // Reads what has arrived. The replies read so far are in `line`.
  void read();
  bool ended() const { return ended_; }
  std::size_t bytes_read() const { return bytes_read_; }
  std::vector<Reply> replies() {
    read();
    return line_.replies();
  }

 private:
  int socket_ = -1;
  bool ended_ = false;
  std::size_t bytes_read_ = 0;
  Line line_;
};

class LoopDaemon {
 public:
  // `pages` outlives it; null: there are no blocks.
  explicit LoopDaemon(const ListenerLimits& limits = {}, const ServerLimits& server_limits = {},
                      BlockPages* pages = nullptr);
  ~LoopDaemon();
  LoopDaemon(const LoopDaemon&) = delete;
  LoopDaemon& operator=(const LoopDaemon&) = delete;

  std::string path() const { return directory + "/seqd.sock"; }
  std::unique_ptr<SocketClient> connect() { return std::make_unique<SocketClient>(path()); }
  // Runs the loop until `done`; aborts when that takes longer than any machine needs.
  void run_until(const std::function<bool()>& done);
  // Runs the loop until every reply to `count` requests has come.
  std::vector<Reply> receive(SocketClient& client, std::size_t count);
  // A few wake-ups of the loop.
  void run_turns(int count = 20);

  std::string directory;
  EventLoop loop;
  LoopClock clock;
  SeededRandom random{5};
  RecordedEvents events;
  MemoryLog log;
  ScriptedStore store{&log};
  ConfiguredSequences settings;
  ScriptedControl control;
  std::unique_ptr<Sessions> sessions;
  std::unique_ptr<ReplyWriter> replies;
  std::unique_ptr<Server> server;
  std::unique_ptr<SequenceTable> table;
  std::unique_ptr<Listener> listener;
  bool store_answers = true;

 private:
  void end_turn();
  uv_timer_t heartbeat_{};  // wakes the loop, so that the clients' ends are looked at
};

// As many open files as this process may have.
void raise_file_limit();

}  // namespace seqd::testing

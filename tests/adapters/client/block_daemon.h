// BlockDaemon: a SocketDaemon that grants blocks of "orders", on real pages, and counts what comes
// of them: for tests of the client library, which it may also tell nonsense. Owned by the test;
// what is set before start() stays; the words below are for any thread.
//
// Invariant: an ID is available, out in one block, or issued; nothing is granted twice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/os/shared_pages.h"
#include "daemon/os/system_random.h"
#include "protocol/replies.h"
#include "tests/adapters/client/socket_daemon.h"

namespace seqd::testing {

class BlockDaemon {
 public:
  BlockDaemon();
  ~BlockDaemon();
  BlockDaemon(const BlockDaemon&) = delete;
  BlockDaemon& operator=(const BlockDaemon&) = delete;

  SocketDaemon& socket() { return socket_; }
  void start() { socket_.start(); }
  void stop() { socket_.stop(); }

  // Set before start(), or while nothing is asked for.
  std::int64_t longest = 1'000'000;        // of a block
  std::optional<ErrorCode> refusal;        // of block
  std::optional<ErrorCode> page_refusal;   // of page
  std::int64_t page_slots = 64;            // as page tells it
  std::int64_t page_slot_bytes = 64;       // the same
  std::optional<std::int64_t> page_key;    // instead of the page's
  std::optional<std::int64_t> page_maker;  // the same
  std::optional<protocol::Run> answer;     // to block, whatever is granted

  // Ends all blocks that are out: what was not taken is available again.
  void end_all();
  // The page goes, with a new one in its place when it is asked for.
  void replace_page();

  // As at a restart that does not find the page: the blocks that are out are gaps, and the page as
  // the client has it still says that they may be taken from.
  void lose_page();

  int asked();   // for blocks
  int blocks();  // granted
  int pages();   // told
  // Of IDs that were granted and ended: how many were taken. All blocks are to have ended.
  std::int64_t taken();
  // Blocks of which nobody knows what was taken.
  int unknown();
  std::int64_t largest();  // block that was asked for

 private:
  struct Out {
    BlockPlace place;
    std::int64_t first;
  };
  bool handle(WireDaemon::Connection& connection, const protocol::Message& message,
              protocol::Buffer& out);
  void grant(const protocol::Message& message, protocol::Buffer& out);
  void end(std::uint32_t slot);
  void end_all_locked();

  SocketDaemon socket_;
  std::string root_;
  std::mutex mutex_;  // guards what follows
  SystemRandom random_;
  std::unique_ptr<Directory> place_;
  std::unique_ptr<SharedPages> pages_;
  std::map<std::uint32_t, Out> out_;                // by slot
  std::map<std::int64_t, std::int64_t> available_;  // first and count
  std::int64_t next_ = 1'000'000'000;               // behind those of plain requests
  int asked_ = 0;
  int granted_ = 0;
  int told_ = 0;
  int unknown_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t largest_ = 0;
};

}  // namespace seqd::testing

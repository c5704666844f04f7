#include "tests/adapters/client/block_daemon.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "daemon/os/files/posix_files.h"
#include "protocol/block_slot.h"
#include "protocol/values/value_writer.h"

namespace seqd::testing {
namespace {

constexpr ClientId kClient = 7;

}  // namespace

BlockDaemon::BlockDaemon() {
  std::string root = "/dev/shm/seqd-test-XXXXXX";
  REQUIRE(mkdtemp(root.data()) != nullptr);
  root_ = root;
  auto directory = open_directory(root_);
  REQUIRE(directory.ok());
  place_ = std::move(*directory);
  auto index = place_->map("pages", SharedPages::kIndexBytes);
  REQUIRE(index.ok());
  pages_ = std::make_unique<SharedPages>(std::move(*index), random_, *place_, "pages");
  socket_.wire().other = [this](WireDaemon::Connection& connection,
                                const protocol::Message& message,
                                protocol::Buffer& out) { return handle(connection, message, out); };
  socket_.ended = [this] { end_all(); };
}

BlockDaemon::~BlockDaemon() {
  socket_.stop();
  pages_->remove(kClient);
  std::filesystem::remove_all(root_);
}

bool BlockDaemon::handle(WireDaemon::Connection& /*connection*/, const protocol::Message& message,
                         protocol::Buffer& out) {
  const std::lock_guard lock(mutex_);
  if (message.method == "block") {
    grant(message, out);
    return true;
  }
  if (message.method != "page") return false;
  if (page_refusal) {
    protocol::append_error_reply(out, message.msgid, *page_refusal, "no page");
    return true;
  }
  ++told_;
  static_cast<void>(pages_->open(kClient, ::geteuid()).ok());
  const PageAddress address = pages_->address(kClient);
  protocol::begin_result(out, message.msgid);
  protocol::append_array(out, 4);
  protocol::append_integer(out, page_slots);
  protocol::append_integer(out, page_slot_bytes);
  protocol::append_integer(out, page_key.value_or(address.key));
  protocol::append_integer(out, page_maker.value_or(address.maker));
  return true;
}

void BlockDaemon::grant(const protocol::Message& message, protocol::Buffer& out) {
  auto reader = message.params;
  const auto name = reader.read_text();
  const std::int64_t slot = reader.read_integer().value_or(-1);
  const std::int64_t wanted = reader.read_integer().value_or(0);
  ++asked_;
  largest_ = std::max(largest_, wanted);
  if (refusal || !name || slot < 0 || slot >= protocol::kBlockSlots || wanted < 1) {
    const ErrorCode code = refusal.value_or(ErrorCode::BAD_REQUEST);
    return protocol::append_error_reply(out, message.msgid, code, "no block");
  }
  const auto place = static_cast<std::uint32_t>(slot);
  const auto there = out_.find(place);
  const bool again = there != out_.end() && there->second.place.block == message.msgid;
  if (!again) {
    end(place);
    std::int64_t count = std::min(wanted, longest);
    std::int64_t first = next_;
    if (available_.empty()) {
      next_ += count;
    } else {
      auto range = available_.extract(available_.begin());
      first = range.key();
      const std::int64_t left = range.mapped() - count;
      if (left > 0) available_.emplace(first + count, left);
      count = std::min(count, range.mapped());
    }
    static_cast<void>(pages_->open(kClient, ::geteuid()).ok());
    out_[place] = {{kClient, place, message.msgid, count}, first};
    static_cast<void>(pages_->publish(out_[place].place).ok());
    ++granted_;
  }
  const Out& granted = out_[place];
  const protocol::Run told = answer.value_or(protocol::Run{granted.first, granted.place.count, 1});
  protocol::begin_result(out, message.msgid);
  protocol::append_array(out, 3);
  protocol::append_integer(out, told.first);
  protocol::append_integer(out, told.step);
  protocol::append_integer(out, told.count);
}

void BlockDaemon::end(std::uint32_t slot) {
  const auto found = out_.find(slot);
  if (found == out_.end()) return;
  const Out ended = found->second;
  out_.erase(found);
  const auto count = pages_->revoke({&ended.place, 1}).at(0);
  if (!count) {
    ++unknown_;
    return;
  }
  taken_ += *count;
  if (*count < ended.place.count)
    available_.emplace(ended.first + *count, ended.place.count - *count);
}

void BlockDaemon::end_all() {
  const std::lock_guard lock(mutex_);
  end_all_locked();
}

void BlockDaemon::end_all_locked() {
  while (!out_.empty()) end(out_.begin()->first);
}

// In one step, as the daemon does it: a block granted in between would be out in no page.
void BlockDaemon::replace_page() {
  const std::lock_guard lock(mutex_);
  end_all_locked();
  pages_->remove(kClient);
}

void BlockDaemon::lose_page() {
  const std::lock_guard lock(mutex_);
  unknown_ += static_cast<int>(out_.size());
  out_.clear();
  pages_->remove(kClient);
}

int BlockDaemon::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

int BlockDaemon::blocks() {
  const std::lock_guard lock(mutex_);
  return granted_;
}

int BlockDaemon::pages() {
  const std::lock_guard lock(mutex_);
  return told_;
}

std::int64_t BlockDaemon::taken() {
  const std::lock_guard lock(mutex_);
  return taken_;
}

int BlockDaemon::unknown() {
  const std::lock_guard lock(mutex_);
  return unknown_;
}

std::int64_t BlockDaemon::largest() {
  const std::lock_guard lock(mutex_);
  return largest_;
}

}  // namespace seqd::testing

// PageSegment: the memory of one page of blocks: a segment of System V, attached. The client is its
// owner, so that the client may attach it; the daemon is its creator. No process has a descriptor
// of it, so no process can cut, extend or lock it, and the daemon may map it. See shmget(2). Loop
// thread.
//
// Invariant: a segment is found by its key, which is random and never changes. A client cannot make
// a segment with the daemon as its creator, and a segment with another creator is not used.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/base/user_id.h"
#include "daemon/core/blocks/block_pages.h"
#include "protocol/block_slot.h"

namespace seqd {

class PageSegment {
 public:
  struct Made {
    std::unique_ptr<PageSegment> segment;  // null: see `error`
    int error = 0;                         // errno; EEXIST: the key is in use
  };
  // A new one, of zeros, which `user` may attach once this process has. `key` is above 0.
  static Made make(std::int32_t key, UserId user);
  // The one that an earlier process of this user made; null: it is gone, or another has its key.
  static std::unique_ptr<PageSegment> find(std::int32_t key);
  // Removes it, if there is one that is ours.
  static void discard(std::int32_t key);

  ~PageSegment();
  PageSegment(const PageSegment&) = delete;
  PageSegment& operator=(const PageSegment&) = delete;

  // It is that user's from here on.
  [[nodiscard]] bool give_to(UserId user);
  // It goes with the last process that has it attached, and no other finds it any more.
  void remove() const;

  // The block is in its slot: IDs may be taken.
  void publish(const BlockPlace& place);
  // No more IDs are taken, as soon as a barrier was.
  void end(const BlockPlace& place);
  // How many IDs of an ended block were taken; none: what is there cannot be.
  std::optional<std::int64_t> taken(const BlockPlace& place) const;

 private:
  PageSegment(int id, void* at) : id_(id), at_(static_cast<char*>(at)) {}
  static std::unique_ptr<PageSegment> attach(int id);
  void mark(std::int32_t key);
  template <typename Number>
  Number& number(std::uint32_t slot, std::size_t offset) const;

  const int id_;
  char* const at_;
  UserId user_ = kNoUserOrGroup;
  std::int32_t key_ = 0;
  // What was published by this process; 0: nothing.
  std::array<std::uint32_t, protocol::kBlockSlots> published_{};
};

}  // namespace seqd

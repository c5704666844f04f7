// SharedPages: the BlockPages of this machine: a PageSegment for each client, and an index of their
// keys beside the witness, by which a start after a kill finds them. Both end with the boot. Loop
// thread; keep_only() comes before everything else.
//
// Invariants: a key is in the index before its segment is made, so each segment of a killed daemon
// is found, unless the index was removed less than a look of keep_index() ago. The segment of a
// client stays the same from open(), or keep_only(), until remove(); the counts of what was taken
// are in it alone.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "daemon/base/events.h"
#include "daemon/base/files/files.h"
#include "daemon/base/random.h"
#include "daemon/core/blocks/block_pages.h"
#include "daemon/os/page_segment.h"

namespace seqd {

class SharedPages final : public BlockPages {
 public:
  struct Entry {
    ClientId client = 0;
    std::int32_t key = 0;  // 0: free
    std::uint32_t unused = 0;
  };
  static constexpr std::size_t kIndexBytes = kMost * sizeof(Entry);

  // The index of a state directory, in the directory of its witness.
  static std::string index_name(const FileIdentity& state);
  // Null, and a warning, where it cannot be had: then there are no blocks.
  static std::unique_ptr<SharedPages> of(const Directory& state, Directory& place, Random& random,
                                         EventSink& events);

  // `index`: kIndexBytes; zeros when it is new. It has that name in `place`, which outlives this.
  SharedPages(std::unique_ptr<SharedMemory> index, Random& random, Directory& place,
              std::string name);

  // Makes the index again where its name does not lead to it any more: true. An error: that cannot
  // be done now, and a start after a kill would find no page.
  Result<bool> keep_index();

  Status open(ClientId client, UserId user) override;
  PageAddress address(ClientId client) const override;
  Status publish(const BlockPlace& place) override;
  std::vector<std::optional<std::int64_t>> revoke(std::span<const BlockPlace> places) override;
  void remove(ClientId client) override;
  void keep_only(const std::set<ClientId>& clients) override;
  bool is_lost(ClientId client) const override;

 private:
  struct Page {
    Entry* entry = nullptr;                // null with `segment`
    std::unique_ptr<PageSegment> segment;  // null: the page is lost
  };

  std::span<Entry> entries() const;
  Status make(ClientId client, UserId user);
  PageSegment* end(const BlockPlace& place);

  std::unique_ptr<SharedMemory> index_;
  Random& random_;
  Directory& place_;
  const std::string name_;
  FileIdentity identity_;  // of the index
  const bool has_barrier_;
  std::map<ClientId, Page> pages_;
};

}  // namespace seqd

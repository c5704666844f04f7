// Witness: what is kept of the state directory in memory of this boot, apart from its files: which
// directory, which nonce, the position of the last turn, and the turns that are not in a file yet.
// It lies in mapped memory of a tmpfs, so it survives a kill -9 and nothing else, and no copy of
// the state directory has it. Owned by the StateLog. Loop thread, but for flush marks.
//
// Invariant: after a kill -9 the position here is at most that of the log (turn first, witness
// second), so a log that ends before it is an older copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/files/files.h"
#include "daemon/base/status.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/core/words/token.h"
#include "daemon/state/log_tail.h"

namespace seqd {

class Witness {
 public:
  static constexpr std::size_t size = 128;  // without the tail
  static constexpr std::size_t size_with_tail = size + LogTail::size;

  // What the witness says.
  struct Testimony {
    Token boot_id{};
    Token nonce{};
    FileIdentity directory;
    LogPosition position = 0;
    bool flushes_good = false;  // no flush failed or was cut off
    bool operator==(const Testimony&) const = default;
  };

  // The file of a state directory in the witness directory.
  static std::string name(const FileIdentity& directory);

  // `directory`, where others could remove it, outlives this; null: nothing is to be kept there.
  explicit Witness(std::unique_ptr<SharedMemory> memory, Directory* directory = nullptr,
                   std::string name = {});

  // Whether its name still leads to it; if not, it is recreated. An error: that is not possible
  // now, and the next start would not find it. Not while a flush is under way.
  enum class Kept : std::uint8_t { in_place, made_again };
  Result<Kept> keep_in_place();

  // Nothing when it is new or its last change was cut off.
  std::optional<Testimony> read() const;
  // Replaces all of it. If a kill interrupts it, the witness is empty.
  void write(const Testimony& testimony);
  // The last turn that is in the file or in the tail.
  void advance(LogPosition position);
  // Around every flush. Worker thread.
  void flush_begins();
  void flush_succeeded();

  // Has no room in a memory of `size`.
  LogTail& tail() { return tail_; }

 private:
  std::unique_ptr<SharedMemory> memory_;
  Directory* const directory_;
  const std::string name_;
  FileIdentity identity_;  // of the memory
  LogTail tail_;
};

}  // namespace seqd

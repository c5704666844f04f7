#include "tests/seeds/old_code.h"

namespace seqd::seeds {
namespace {

constexpr std::int64_t kBlock = 25;

}  // namespace

CachedBlock::CachedBlock(const Database& database, const std::string& name, IssueLog& log)
    : log_(log),
      counter_(database.client, database.name, {"sequences", name, "sequence"}, Written::int32) {}

std::optional<std::int64_t> CachedBlock::next() {
  const std::lock_guard lock(mutex_);
  if (issued_ == sequence_ && !fetch()) return std::nullopt;
  ++issued_;
  log_.id(issued_);
  return issued_;
}

bool CachedBlock::fetch() {
  while (true) {
    log_.ask();
    const Moved moved = counter_.add(kBlock, true);
    if (moved.kind == Moved::Kind::moved) {
      sequence_ = moved.number;
      issued_ = sequence_ - kBlock;
      log_.block(issued_ + 1, sequence_ + 1);
      return true;
    }
    log_.failed();
    // Somebody else made the document at the same moment: it is there now.
    if (moved.kind != Moved::Kind::duplicate) return false;
  }
}

}  // namespace seqd::seeds

#include "daemon/state/state_log.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/state/log_format.h"
#include "daemon/state/segment_writer.h"

namespace seqd {
namespace {

constexpr std::size_t kept_turn_capacity = std::size_t{1} << 20;

}  // namespace

// What a flush does on the worker. It owns what it touches, so the log may be gone before it ends.
struct StateLog::Flush {
  StateLog* log;  // null when the log is gone; loop thread
  const std::shared_ptr<StateFiles> files;
  const std::shared_ptr<Witness> witness;
  const int file;
  const LogPosition position;
  const std::optional<SegmentHeader> seal;  // the older segment, if it is still to be sealed
  const std::uint64_t number;               // of the segment that is flushed
  const FineClock* const clock;             // null: durations are not measured
  Status status{};
  std::int64_t took_us = 0;  // the segment's sync

  void run() {
    status = files->check_in_place();
    if (!status.ok()) return;
    // After a kill from here on, the next start assumes that pages of this file may be dirty.
    witness->flush_begins();
    const std::int64_t began_us = clock == nullptr ? 0 : clock->monotonic_us();
    status = files->segments[file]->sync_data();
    if (clock != nullptr) took_us = clock->monotonic_us() - began_us;
    if (status.ok() && seal) status = seal_older();
    if (status.ok()) witness->flush_succeeded();
  }

  // Before the newer segment counts as durable, the older one must record that it is no longer the
  // state: if the newer one is damaged later, the older one must not be taken for the newest state.
  Status seal_older() {
    File& older = *files->segments[1 - file];
    Status written = older.write_at(seal_offset, encode_seal(*seal, number));
    return written.ok() ? older.sync_data() : written;
  }
};

Status StateFiles::check_in_place() const {
  ASSERT(directory != nullptr && lock && segments[0] && segments[1]);
  const auto leads_to = [this](const std::string& name, const FileIdentity& wanted) {
    const Result<FileIdentity> found = directory->identity(name);
    if (found.ok() && *found == wanted) return Status();
    return Status(ErrorCode::FENCED,
                  directory->path() + (name.empty() ? "" : "/" + name) +
                      " was removed or replaced while seqd was using it; nothing more is issued. "
                      "Restart seqd: it continues with the present files" +
                      (found.ok() ? "" : " (" + found.status().text() + ")"));
  };
  Status status = leads_to("", identity);
  if (status.ok()) status = leads_to(lock_name, lock->identity());
  for (int file = 0; status.ok() && file < 2; ++file) {
    status = leads_to(segment_names[file], segments[file]->identity());
  }
  return status;
}

StateLog::StateLog(StateFiles files, std::unique_ptr<Witness> witness, const Place& place,
                   Worker& worker, Random& random, Clock& clock)
    : worker_(worker),
      random_(random),
      clock_(clock),
      files_(std::make_shared<StateFiles>(std::move(files))),
      witness_(std::move(witness)),
      size_(place.size),
      headroom_(StateBounds(place.size).headroom()),
      file_(place.file),
      header_(place.header),
      seed_(record_seed(place.header)),
      offset_(place.offset),
      position_(place.header.base),
      durable_(place.header.base) {
  ASSERT(size_ >= smallest_size && size_ <= max_size);
  ASSERT(offset_ <= size_);
}

StateLog::~StateLog() {
  if (flush_) flush_->log = nullptr;
}

void StateLog::attach(RemainderLogObserver* observer, const SnapshotSource* source) {
  observer_ = observer;
  source_ = source;
}

void StateLog::begin_turn() {
  if (turn_.empty()) begin_record(turn_, RecordKind::turn, position_ + 1, durable_);
}

void StateLog::append(const LogEntry& entry) {
  begin_turn();
  encode_entry(turn_, entry);
}

LogPosition StateLog::next_position() const {
  return position_ + 1;
}

void StateLog::make_durable() {
  flush_asked_ = true;
}

bool StateLog::may_rotate() const {
  return durable_ >= header_.base && !flush_failed_;
}

bool StateLog::accepting() const {
  if (!failure_.ok()) return false;
  // Called for each request; nearly always there is room.
  return offset_ + turn_.size() + headroom_ <= size_ || may_rotate();
}

Status StateLog::commit() {
  if (!failure_.ok()) return failure_;
  if (!turn_.empty()) {
    Status status = write_turn();
    if (!status.ok()) return failure_ = std::move(status);
    ++position_;
    witness_->advance(position_);
    turn_.clear();
    if (turn_.capacity() > kept_turn_capacity) turn_.shrink_to_fit();
  }
  if (flush_asked_) flush_due_ = true;
  flush_asked_ = false;
  if (flush_due_ && !flush_) failure_ = start_flush();
  if (failure_.ok()) return {};  // cheaper than a copy of it
  return failure_;
}

Status StateLog::write_turn() {
  ASSERT(offset_ <= size_);
  end_record(turn_, 0, seed_);
  if (turn_.size() > size_ - offset_) {
    if (may_rotate()) {
      Status status = write_tail();
      return status.ok() ? rotate() : status;
    }
    return {ErrorCode::STATE_IO,
            "the log in " + files_->directory->path() +
                " is full and the medium has not confirmed what is in it; the disk hangs or is "
                "too slow for state_log_size"};
  }
  LogTail& tail = witness_->tail();
  if (!tail.append(turn_)) {
    Status status = write_tail();
    if (!status.ok()) return status;
    if (!tail.append(turn_)) return write_long_turn();
  }
  offset_ += turn_.size();
  return {};
}

// A turn that no tail has room for.
Status StateLog::write_long_turn() {
  ASSERT(witness_->tail().bytes().empty());
  Status status = files_->segments[file_]->write_at(offset_, turn_);
  if (!status.ok()) return status;
  offset_ += turn_.size();
  witness_->tail().begin(header_.salt, offset_);
  return {};
}

// The file first, then that the tail is empty: a kill in between writes the same bytes again.
Status StateLog::write_tail() {
  ASSERT(witness_->tail().bytes().size() + records_offset <= offset_);
  LogTail& tail = witness_->tail();
  const std::span<const std::uint8_t> bytes = tail.bytes();
  if (bytes.empty()) return {};
  Status status = files_->segments[file_]->write_at(offset_ - bytes.size(), bytes);
  if (status.ok()) tail.begin(header_.salt, offset_);
  return status;
}

// The snapshot includes the turn, whose own record is not needed then.
Status StateLog::rotate() {
  ASSERT(source_ != nullptr);
  // The file to be overwritten has its seal: may_rotate() says that the flush behind it succeeded.
  ASSERT(!to_seal_ && witness_->tail().bytes().empty());
  SegmentHeader header = header_;
  header.number += 1;
  header.base = position_ + 1;
  header.salt = random_.next();
  header.wall_ms = clock_.wall_ms();
  const std::vector<std::uint8_t> bytes = encode_segment(header, *source_);
  if (!StateBounds(size_).fits(bytes.size())) {
    return {ErrorCode::STATE_IO, "the state of " + std::to_string(bytes.size()) +
                                     " bytes does not fit into a log of " + std::to_string(size_) +
                                     "; raise state_log_size"};
  }
  Status status = files_->segments[1 - file_]->write_at(0, bytes);
  if (!status.ok()) return status;
  to_seal_ = header_;
  header_ = header;
  seed_ = record_seed(header_);
  file_ = 1 - file_;
  offset_ = bytes.size();
  witness_->tail().begin(header_.salt, offset_);
  ++rotations_;
  // At once, so that the next rotation does not have to wait for it.
  flush_due_ = true;
  return {};
}

Status StateLog::start_flush() {
  ASSERT(!flush_ && position_ >= durable_);
  flush_due_ = false;
  // After one that failed, which was reported, what is reserved is still issued.
  if (flush_failed_ || position_ == durable_) return {};
  ASSERT(observer_ != nullptr);
  Status status = write_tail();
  if (!status.ok()) return status;
  flush_ = std::make_shared<Flush>(Flush{.log = this,
                                         .files = files_,
                                         .witness = witness_,
                                         .file = file_,
                                         .position = position_,
                                         .seal = to_seal_,
                                         .number = header_.number,
                                         .clock = fine_clock_});
  worker_.submit([flush = flush_] { flush->run(); },
                 [flush = flush_] {
                   if (flush->log != nullptr) flush->log->flushed();
                 });
  return {};
}

void StateLog::flushed() {
  const std::shared_ptr<Flush> flush = std::exchange(flush_, nullptr);
  ASSERT(flush && observer_ != nullptr);
  if (!flush->status.ok()) {
    flush_failed_ = true;
    observer_->flush_failed(flush->status);
    return;
  }
  ASSERT(flush->position > durable_ && flush->position <= position_);
  ++syncs_;
  if (fine_clock_ != nullptr) sync_durations_.add(flush->took_us);
  durable_ = flush->position;
  // It sealed the older segment; no rotation came in between, see may_rotate().
  if (flush->seal) to_seal_.reset();
  // The next commit reports a write that fails here.
  if (flush_due_ && failure_.ok()) failure_ = start_flush();
  observer_->durable(flush->position);
}

Result<Witness::Kept> StateLog::keep_witness() {
  if (flush_) return Witness::Kept::in_place;  // its worker writes to the witness
  return witness_->keep_in_place();
}

StateLog::Statistics StateLog::statistics() const {
  return {position_, durable_, syncs_, rotations_, offset_};
}

}  // namespace seqd

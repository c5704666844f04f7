#include "daemon/state/start.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/core/log/state_bounds.h"
#include "daemon/state/recovery.h"
#include "daemon/state/segment_writer.h"

namespace seqd {
namespace {

class ImageSource final : public SnapshotSource {
 public:
  explicit ImageSource(const StateImage& image) : image_(image) {}
  void snapshot(const std::function<void(const LogEntry&)>& entry) const override {
    image_.snapshot(entry);
  }

 private:
  const StateImage& image_;
};

// In place of a witness: memory that ends with the process. It has no room for turns, so they go to
// the file at once.
class NoWitness final : public SharedMemory {
 public:
  std::span<std::uint8_t> bytes() override { return bytes_; }

 private:
  alignas(64) std::array<std::uint8_t, Witness::size> bytes_{};
};

// `why` names the file. It is safe to continue without it: of two segments the newer one is
// complete, and the older one is sealed.
Status unreadable(const Status& why) {
  return {
      why.code(),
      why.text() +
          ". Move that file away and start seqd again: it continues with the other log file, or as "
          "a new instance if that one was never used, and IDs that were available only in this one "
          "are never issued. Do not replace the file by "
          "a copy in which unreadable sectors are zeros"};
}

// One start. The steps of run(), and why a kill within or behind each of them is harmless:
//
//   check_places             changes nothing
//   open_files               locks the directory
//   open_witness             may make an empty one, which says nothing
//   write_tail               cut off, it still is in the tail and goes to the file again
//   read_and_judge           changes nothing
//   set_damaged_files_aside  cut off, the next start finds no file and says `fresh`; what the
//                            warnings named is in the files that were set aside
//   make_newest_durable      writes the same bytes over themselves
//   write_segment            into the file that is not the newest whole one. Cut off, the next
//                            start reads what this one read, and the witness still says what it
//                            said, so it judges the same. Whole, the next start reads the result.
//                            After R1 its nonce is the old one and the witness matches as before.
//                            After R2 and R3 its nonce is new and no witness matches, but no scope
//                            in it is dirty, so nothing is left that needs a witness. Then the
//                            older segment is sealed: nothing was issued meanwhile, so either file
//                            alone is right
//   switch_witness           from here on it is that of the new segment. Cut off, it says nothing;
//                            after R1, where that would cost the ranges, only its position is moved
//
// Behind the last one the first turn can make a scope dirty.
class Start {
 public:
  Start(const StartPlaces& places, const StartOptions& options)
      : places_(places),
        options_(options),
        witness_proves_(places.witness.kind() == FileSystemKind::memory) {}

  Result<Started> run() {
    for (Status (Start::*step)() :
         {&Start::check_places, &Start::open_files, &Start::open_witness, &Start::write_tail,
          &Start::read_and_judge, &Start::set_damaged_files_aside, &Start::make_newest_durable,
          &Start::write_segment}) {
      Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    switch_witness();
    const StateLog::Place place{target_, header_, written_, options_.state_log_size};
    started_.log = std::make_unique<StateLog>(std::move(files_), std::move(witness_), place,
                                              places_.worker, places_.random, places_.clock);
    return std::move(started_);
  }

 private:
  Status check_places();
  Status open_files();
  Status open_segment(int file);
  Status open_witness();
  Status write_tail();
  Status read_and_judge();
  Status set_damaged_files_aside();
  Status make_newest_durable();
  Status write_segment();
  void switch_witness();
  bool trusts_witness() const { return judgement_.verdict == Verdict::witness; }

  const StartPlaces& places_;
  const StartOptions& options_;
  StateFiles files_;
  const bool witness_proves_;  // it is in memory
  std::unique_ptr<Witness> witness_;
  std::optional<Witness::Testimony> testimony_;
  Recovered recovered_;
  Evidence evidence_;
  Judgement judgement_;
  int target_ = 0;
  SegmentHeader header_;
  std::uint64_t written_ = 0;
  Started started_;
};

Status Start::check_places() {
  ASSERT(options_.state_log_size >= StateLog::smallest_size &&
         options_.state_log_size <= StateLog::max_size);
  const std::string& path = places_.state.path();
  switch (places_.state.kind()) {
    case FileSystemKind::remote:
      return {ErrorCode::STATE_IO,
              path +
                  " is on a network file system, where locks and syncs cannot be relied on; set "
                  "state_dir to a directory on a local disk"};
    case FileSystemKind::memory:
      started_.warnings.push_back(path +
                                  " is on a memory file system: the available IDs are lost "
                                  "when the machine is restarted");
      break;
    case FileSystemKind::overlay:
      started_.warnings.push_back(path +
                                  " is on an overlay file system: mount a volume of the host "
                                  "there, or the state is lost with the container");
      break;
    case FileSystemKind::unknown:
      started_.warnings.push_back(path +
                                  " is on a FUSE file system: make sure that it is "
                                  "on a disk of this host and that no other host uses it");
      break;
    case FileSystemKind::local:
      break;
  }
  if (!witness_proves_) {
    started_.warnings.push_back(
        places_.witness.path() +
        ", the witness directory, is not on a tmpfs, so it proves nothing: after a kill -9 the "
        "available IDs become a gap. Remove witness_dir, and seqd selects memory");
  }
  return {};
}

Status Start::open_segment(int file) {
  Result<std::unique_ptr<File>> opened = places_.state.open(segment_names[file]);
  if (!opened.ok()) return opened.status();
  files_.segments[file] = std::move(*opened);
  return {};
}

Status Start::open_files() {
  files_.directory = &places_.state;
  Result<FileIdentity> identity = places_.state.identity("");
  if (!identity.ok()) return identity.status();
  files_.identity = *identity;
  Result<std::unique_ptr<File>> lock = places_.state.open(lock_name);
  if (!lock.ok()) return lock.status();
  files_.lock = std::move(*lock);
  for (int file = 0; file < 2; ++file) {
    Status status = open_segment(file);
    if (!status.ok()) return status;
  }
  return files_.check_in_place();
}

Status Start::open_witness() {
  Result<std::unique_ptr<SharedMemory>> memory = places_.witness.map(
      Witness::name(files_.identity), witness_proves_ ? Witness::size_with_tail : Witness::size);
  if (!memory.ok()) {
    if (!options_.may_lack_witness || memory.status().code() != ErrorCode::STATE_IO)
      return memory.status();
    started_.warnings.push_back(memory.status().text() +
                                ", so there is no witness: after a kill -9 the available IDs "
                                "become a gap. Name a directory on a tmpfs as witness_dir");
    witness_ = std::make_unique<Witness>(std::make_unique<NoWitness>());
    return {};
  }
  witness_ = std::make_unique<Witness>(std::move(*memory), &places_.witness,
                                       Witness::name(files_.identity));
  // On a disk the witness could have been copied or put back together with the log.
  if (witness_proves_) testimony_ = witness_->read();
  return {};
}

// The turns that a killed daemon had not yet written to its file. The salt names the segment, so
// they are what belongs in that place; in a file put back from a copy they may be behind a hole,
// which ends the log before them.
Status Start::write_tail() {
  if (!testimony_ || testimony_->boot_id != options_.boot_id ||
      testimony_->directory != files_.identity) {
    return {};
  }
  const std::optional<LogTail::Content> tail = witness_->tail().read();
  if (!tail) return {};
  for (const std::unique_ptr<File>& segment : files_.segments) {
    Sector sector{};
    Result<std::size_t> got = segment->read_at(0, sector);
    Result<std::uint64_t> size = segment->size();
    if (!got.ok()) return unreadable(got.status());
    if (!size.ok()) return size.status();
    const DecodedHeader decoded = decode_header(std::span(sector).first(*got));
    if (decoded.fault != HeaderFault::none || decoded.header.salt != tail->salt) continue;
    if (tail->offset < records_offset || tail->offset > *size ||
        tail->bytes.size() > *size - tail->offset ||
        !decode_record(tail->bytes, record_seed(decoded.header))) {
      continue;
    }
    Status status = segment->write_at(tail->offset, tail->bytes);
    if (!status.ok()) return status;
  }
  return {};
}

Status Start::read_and_judge() {
  evidence_ = {options_.boot_id, files_.identity, testimony_, options_.after_power_loss};
  Result<Recovered> recovered =
      recover(*files_.segments[0], *files_.segments[1],
              options_.after_power_loss == AfterPowerLoss::resume, options_.reader);
  if (!recovered.ok()) {
    const Status& why = recovered.status();
    if (why.code() == ErrorCode::STATE_IO) return unreadable(why);
    return {why.code(), places_.state.path() + ": " + why.text()};
  }
  recovered_ = std::move(*recovered);
  judgement_ = judge(evidence_, recovered_);
  ASSERT(!trusts_witness() || (recovered_.file >= 0 && evidence_.witness));
  ASSERT(recovered_.file < 0 || recovered_.bytes.size() > records_offset);
  started_.how = judgement_.how;
  for (const std::string& damage : recovered_.damages) {
    started_.warnings.push_back(places_.state.path() + "/" + damage);
  }
  if (judgement_.verdict == Verdict::fresh && evidence_.witness &&
      evidence_.witness->boot_id == options_.boot_id) {
    started_.warnings.push_back(places_.state.path() +
                                ": the log that existed earlier in this boot is missing; the IDs "
                                "that were available will never be issued");
  }
  return {};
}

// An unreadable file is set aside, for an operator to check.
Status Start::set_damaged_files_aside() {
  if (recovered_.file >= 0) return {};
  for (int file = 0; file < 2; ++file) {
    if (recovered_.empty[file]) continue;
    const std::string name = segment_names[file];
    Status status = places_.state.rename(name, name + ".damaged");
    if (status.ok()) status = open_segment(file);
    if (!status.ok()) return status;
    started_.warnings.push_back(places_.state.path() + "/" + name + " was renamed to " + name +
                                ".damaged; the IDs it held will never be issued");
  }
  return {};
}

// The new segment overwrites the older one, and that may be done only when what was read of the
// newest is on the medium. Reading proves nothing: it comes from the page cache. A sync proves it
// unless one failed before, for then the kernel takes the pages for clean. So, unless the witness
// shows that no sync failed, the bytes are written over themselves first: cut off anywhere, they
// are unchanged. After a reboot what is read comes from the medium.
Status Start::make_newest_durable() {
  if (recovered_.file < 0 || recovered_.header.boot_id != options_.boot_id) return {};
  File& newest = *files_.segments[recovered_.file];
  const bool sync_suffices = trusts_witness() && evidence_.witness->flushes_good;
  if (trusts_witness()) witness_->flush_begins();
  if (!sync_suffices) {
    Status status = newest.write_at(0, recovered_.bytes);
    if (!status.ok()) return status;
  }
  return newest.sync_data();
}

Status Start::write_segment() {
  target_ = recovered_.file == 0 ? 1 : 0;
  for (const std::unique_ptr<File>& segment : files_.segments) {
    Status status = segment->allocate(options_.state_log_size);
    if (!status.ok()) return status;
  }
  Status status = places_.state.sync();
  if (!status.ok()) return status;

  const std::int64_t wall_ms = places_.clock.wall_ms();
  Result<Changes> changes = carry_out(judgement_, recovered_.image, places_.random, wall_ms);
  if (!changes.ok()) return changes.status();
  started_.gaps = std::move(changes->gaps);
  started_.dropped = std::move(changes->dropped);

  ASSERT(recovered_.highest_number >= recovered_.header.number);
  header_ = {.number = recovered_.highest_number + 1,
             .base = recovered_.position,
             .boot_id = options_.boot_id,
             .nonce = recovered_.header.nonce,
             .salt = places_.random.next(),
             .wall_ms = wall_ms};
  if (!trusts_witness()) header_.nonce = random_token(places_.random);
  const std::vector<std::uint8_t> bytes = encode_segment(header_, ImageSource(recovered_.image));
  written_ = bytes.size();
  if (!StateBounds(options_.state_log_size).fits(written_)) {
    return {ErrorCode::STATE_IO,
            "the state of " + std::to_string(written_) + " bytes does not fit into a log of " +
                std::to_string(options_.state_log_size) + "; raise state_log_size"};
  }
  File& target = *files_.segments[target_];
  status = target.write_at(0, bytes);
  if (status.ok()) status = target.sync_data();
  if (!status.ok() || recovered_.file < 0) return status;
  File& older = *files_.segments[recovered_.file];
  status = older.write_at(seal_offset, encode_seal(recovered_.header, header_.number));
  return status.ok() ? older.sync_data() : status;
}

void Start::switch_witness() {
  ASSERT(written_ > records_offset);
  started_.image = std::move(recovered_.image);
  witness_->tail().begin(header_.salt, written_);
  if (trusts_witness()) {
    witness_->advance(header_.base);
    witness_->flush_succeeded();
    return;
  }
  witness_->write({.boot_id = options_.boot_id,
                   .nonce = header_.nonce,
                   .directory = files_.identity,
                   .position = header_.base,
                   .flushes_good = true});
}

}  // namespace

Result<Started> start(const StartPlaces& places, const StartOptions& options) {
  return Start(places, options).run();
}

}  // namespace seqd

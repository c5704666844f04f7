#include "tests/crash/recording_directory.h"

#include <utility>

namespace seqd {
namespace {

Status injected(const char* call) {
  return {ErrorCode::STATE_IO, std::string(call) + ": injected failure"};
}

class RecordingFile final : public File {
 public:
  RecordingFile(Recording& recording, std::unique_ptr<File> file)
      : recording_(recording), file_(std::move(file)) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> into) override {
    return file_->read_at(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
    recording_.cut();
    const bool fails = std::exchange(recording_.fail_next_write, false);
    if (fails) bytes = bytes.first(bytes.size() / 2);
    Status status = file_->write_at(offset, bytes);
    recording_.medium.wrote(number(), offset, bytes);
    recording_.cut();
    return fails ? injected("write") : status;
  }
  Status sync_data() override {
    recording_.cut();
    recording_.medium.sync_begins(number());
    if (recording_.during_sync) std::exchange(recording_.during_sync, nullptr)();
    recording_.cut();
    const bool fails = std::exchange(recording_.fail_next_sync, false);
    Status status = fails ? injected("sync") : file_->sync_data();
    recording_.medium.sync_ended(number(), status.ok());
    recording_.cut();
    return status;
  }
  Status allocate(std::uint64_t size) override {
    recording_.cut();
    Status status = file_->allocate(size);
    recording_.medium.allocated(number(), size);
    recording_.cut();
    return status;
  }
  Result<std::uint64_t> size() override { return file_->size(); }
  FileIdentity identity() const override { return file_->identity(); }

 private:
  std::uint64_t number() const { return file_->identity().inode; }

  Recording& recording_;
  const std::unique_ptr<File> file_;
};

class RecordingDirectory final : public Directory {
 public:
  RecordingDirectory(Recording& recording, std::unique_ptr<Directory> directory)
      : recording_(recording), directory_(std::move(directory)) {}

  Result<std::unique_ptr<File>> open(const std::string& name) override {
    recording_.cut();
    const bool is_new = !directory_->identity(name).ok();
    Result<std::unique_ptr<File>> file = directory_->open(name);
    if (!file.ok()) return file;
    if (is_new) recording_.medium.created(name, (*file)->identity().inode);
    recording_.cut();
    return std::unique_ptr<File>(std::make_unique<RecordingFile>(recording_, std::move(*file)));
  }
  Result<std::unique_ptr<SharedMemory>> map(const std::string& name, std::size_t size) override {
    return directory_->map(name, size);
  }
  Status rename(const std::string& from, const std::string& to) override {
    recording_.cut();
    Status status = directory_->rename(from, to);
    if (status.ok()) recording_.medium.renamed(from, to);
    recording_.cut();
    return status;
  }
  Status sync() override {
    recording_.cut();
    Status status = directory_->sync();
    if (status.ok()) recording_.medium.names_synced();
    recording_.cut();
    return status;
  }
  Result<FileIdentity> identity(const std::string& name) const override {
    return directory_->identity(name);
  }
  FileSystemKind kind() const override { return directory_->kind(); }
  const std::string& path() const override { return directory_->path(); }

 private:
  Recording& recording_;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace

std::unique_ptr<Directory> Recording::record(std::unique_ptr<Directory> directory) {
  return std::make_unique<RecordingDirectory>(*this, std::move(directory));
}

}  // namespace seqd

// PageFiles: the BlockPages of this machine: a file for each client in a directory of our own in
// shared memory (/dev/shm), so that it outlives the process and not the boot. Files are named by
// the state directory and the client's number. Nothing is mapped: a client that cuts its file short
// would end this process. One descriptor a page. Loop thread; keep_only() comes before everything
// else.
//
// Invariant: the file of a client stays the same from open(), or keep_only(), until remove(): in
// another one the number of taken IDs would be lost.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "daemon/base/files.h"
#include "daemon/core/blocks/block_pages.h"

namespace seqd {

class PageFiles final : public BlockPages {
 public:
  // /dev/shm/seqd-UID: others may fill that file system anyway.
  static std::string usual_place();

  // `directory` is made when the first page is; its parent has to be in memory. `state`: whose
  // pages these are, of those that lie there.
  PageFiles(std::string directory, const FileIdentity& state);
  // The same at the usual place; null when that directory is gone.
  static std::unique_ptr<PageFiles> of(const Directory& state);
  ~PageFiles() override;
  PageFiles(const PageFiles&) = delete;
  PageFiles& operator=(const PageFiles&) = delete;

  Status open(ClientId client) override;
  int descriptor(ClientId client) const override;
  Status publish(const BlockPlace& place) override;
  std::vector<std::optional<std::int64_t>> revoke(std::span<const BlockPlace> places) override;
  void remove(ClientId client) override;
  void keep_only(const std::set<ClientId>& clients) override;

  // The name of a client's file in the directory.
  std::string name(ClientId client) const;

 private:
  // Opens the directory; makes it, if that is wanted and it is missing.
  Status open_directory(bool make);
  Status make(ClientId client);
  // That of a page that an earlier process made; -1: it is gone, or something else lies there.
  int find(ClientId client) const;
  bool end(const BlockPlace& place) const;

  const std::string path_;
  const std::string prefix_;
  const bool has_barrier_;
  int directory_ = -1;
  std::map<ClientId, int> pages_;  // descriptors; -1: the page is lost
};

}  // namespace seqd

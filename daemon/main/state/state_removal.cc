#include "daemon/main/state/state_removal.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/os/shared_pages.h"
#include "daemon/os/shared_segments.h"
#include "daemon/state/decommission_mark.h"
#include "daemon/state/state_log.h"
#include "daemon/state/witness.h"
#include "daemon/store/history/history_database.h"

namespace seqd {
namespace {

std::vector<std::string> history_names() {
  std::vector<std::string> names;
  for (const std::string& base :
       {std::string(HistoryDatabase::kFileName),
        std::string(HistoryDatabase::kFileName) + HistoryDatabase::kSetAside}) {
    for (const char* end : {"", "-journal", "-wal", "-shm"}) names.push_back(base + end);
  }
  return names;
}

std::vector<std::string> log_names() {
  std::vector<std::string> names;
  for (const std::string name : segment_names) {
    names.push_back(name + ".damaged");
    names.push_back(name);
  }
  names.emplace_back(decommission_draft_name);
  return names;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

bool in_segments(const Directory& witness) {
  return witness.path() == kSharedSegments;
}

// Beside the witness lies what leads to the pages of blocks.
std::vector<std::string> names_in_memory(const Directory& state) {
  const Result<FileIdentity> identity = state.identity("");
  if (!identity.ok()) return {};
  return {Witness::name(*identity), SharedPages::index_name(*identity)};
}

Status remove_file(const std::string& path) {
  std::error_code failed;
  std::filesystem::remove(path, failed);
  return failed ? Status(ErrorCode::STATE_IO, path + ": remove: " + failed.message()) : Status();
}

// All but mark and lock.
std::vector<std::string> first_paths(const Directory& state, const Directory& witness,
                                     bool keep_history) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && is_there(path)) paths.push_back(path);
  };
  if (!keep_history) {
    for (const std::string& name : history_names()) add(state.path() + "/" + name);
  }
  for (const std::string& name : log_names()) add(state.path() + "/" + name);
  for (const std::string& name : names_in_memory(state)) add(witness.path() + "/" + name);
  return paths;
}

}  // namespace

StateContents state_contents(const Directory& state, const Directory& witness, bool keep_history) {
  StateContents contents;
  contents.ours = first_paths(state, witness, keep_history);
  for (const char* name : {decommission_mark_name, lock_name}) {
    const std::string path = state.path() + "/" + name;
    if (is_there(path)) contents.ours.push_back(path);
  }
  std::error_code failed;
  for (std::filesystem::directory_iterator each(state.path(), failed), end; !failed && each != end;
       each.increment(failed)) {
    const std::string path = state.path() + "/" + each->path().filename().string();
    if (std::find(contents.ours.begin(), contents.ours.end(), path) == contents.ours.end())
      contents.others.push_back(path);
  }
  std::sort(contents.others.begin(), contents.others.end());
  return contents;
}

Status remove_state(Directory& state, Directory& witness, bool keep_history) {
  Status first;
  const auto note = [&first](const Status& status) {
    if (first.ok()) first = status;
  };
  for (const std::string& path : first_paths(state, witness, keep_history)) note(remove_file(path));
  if (in_segments(witness)) {
    for (const std::string& name : names_in_memory(state)) note(remove_shared_segment(name));
  }
  // Without the mark a log that is still there would be taken up again.
  note(state.sync());
  if (!first.ok()) return first;
  for (const char* name : {decommission_mark_name, lock_name})
    note(remove_file(state.path() + "/" + name));
  note(state.sync());
  return first;
}

}  // namespace seqd

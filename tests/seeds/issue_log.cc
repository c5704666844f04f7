#include "tests/seeds/issue_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace seqd::seeds {

IssueLog::IssueLog(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) give_up("cannot write " + path);
}

IssueLog::~IssueLog() {
  ::close(file_);
}

void IssueLog::ask() {
  write_line("ask\n");
}

void IssueLog::block(std::int64_t begin, std::int64_t end) {
  taken_ += end - begin;
  write_line("block " + std::to_string(begin) + " " + std::to_string(end) + "\n");
}

void IssueLog::id(std::int64_t number) {
  ++issued_;
  write_line("id " + std::to_string(number) + "\n");
}

void IssueLog::failed() {
  ++failures_;
  write_line("failed\n");
}

void IssueLog::write_line(const std::string& line) const {
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    give_up("a line of the log could not be written");
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "old code: %s\n", why.c_str());
  std::_Exit(1);
}

}  // namespace seqd::seeds

// IdStream: the IDs or texts of `next`, printed while they come: one a line, or as one line of JSON
// whose array grows. Nothing is kept, so that an end in the middle loses no ID that was taken. One
// thread.
//
// Invariant: with JSON, what was begun is one complete value after finish().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

class IdStream {
 public:
  // `arguments` and `out` outlive this.
  IdStream(const Arguments& arguments, Output& out) : arguments_(arguments), out_(out) {}

  void add(std::span<const seqd_run> runs);
  void add(const std::vector<std::string>& texts);
  // An empty array is printed where nothing came, unless `is_failed`.
  void finish(bool is_failed);

 private:
  // What stands before the next element, and everything before the first one.
  std::string_view separator();

  const Arguments& arguments_;
  Output& out_;
  bool has_begun_ = false;
  bool has_elements_ = false;
};

}  // namespace seqd::seqctl

// RetainedIssues: what one client was issued and has not acknowledged, by request number. What
// belongs together is one entry: consecutive single issues, and the parts of one batch. The log's
// image keeps it in the same way as the table that answers repeats, so both have the same entries.
// A value; one thread.
//
// Invariant: no entry continues where the one before it ends. So adding the entries in their order
// to an empty one gives the same, which is how a snapshot is read.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "daemon/core/log/log_entry.h"

namespace seqd {

class RetainedIssues {
 public:
  // By how many entries there are more: 1; 0 when it went into one that was there, -1 when two that
  // were there are one with it.
  int add(const Issued& issue);
  // What `request` was issued, in order; empty when nothing.
  std::vector<Issued> find(std::uint32_t request) const;
  // Drops entries with no request from `below` on; `dropped` is called for each.
  void acknowledge(std::uint32_t below, const std::function<void(const Issued&)>& dropped);

  std::uint32_t newest() const { return newest_; }  // the highest request number issued to
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const RetainedIssues& other) const { return entries_ == other.entries_; }

 private:
  std::deque<Issued> entries_;
  std::uint32_t newest_ = 0;
};

}  // namespace seqd

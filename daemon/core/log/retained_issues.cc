#include "daemon/core/log/retained_issues.h"

#include <algorithm>
#include <iterator>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

std::uint32_t last_request(const Issued& issue) {
  if (!is_one_each(issue.kind)) return issue.request;
  return issue.request + static_cast<std::uint32_t>(issue.end - issue.begin - 1);
}

bool goes_on(const Issued& back, const Issued& issue) {
  if (back.kind != issue.kind || back.form != issue.form || back.wall_s != issue.wall_s ||
      back.sequence != issue.sequence || back.end != issue.begin) {
    return false;
  }
  return is_one_each(issue.kind) ? last_request(back) + 1 == issue.request
                                 : back.request == issue.request;
}

}  // namespace

// The place does not depend on what came in between, so that entries read from a snapshot are
// merged as they were.
int RetainedIssues::add(const Issued& issue) {
  ASSERT(issue.begin < issue.end);
  newest_ = std::max(newest_, last_request(issue));
  auto at = entries_.end();
  // A request that waited may be issued after younger ones.
  if (!entries_.empty() && entries_.back().request > issue.request) {
    at = std::upper_bound(entries_.begin(), entries_.end(), issue,
                          [](const Issued& a, const Issued& b) { return a.request < b.request; });
  }
  if (at != entries_.begin() && goes_on(*std::prev(at), issue)) {
    std::prev(at)->end = issue.end;
    if (at == entries_.end() || !goes_on(*std::prev(at), *at)) return 0;
    std::prev(at)->end = at->end;
    entries_.erase(at);
    return -1;
  }
  if (at != entries_.end() && goes_on(issue, *at)) {
    at->request = issue.request;
    at->begin = issue.begin;
    return 0;
  }
  ASSERT(at == entries_.end() || issue.request < at->request);
  ASSERT(at == entries_.begin() || std::prev(at)->request <= issue.request);
  entries_.insert(at, issue);
  return 1;
}

std::vector<Issued> RetainedIssues::find(std::uint32_t request) const {
  auto at = std::partition_point(entries_.begin(), entries_.end(), [&](const Issued& issue) {
    return last_request(issue) < request;
  });
  std::vector<Issued> out;
  for (; at != entries_.end() && at->request <= request; ++at) {
    if (last_request(*at) < request) continue;  // of a client that gave one number twice
    Issued one = *at;
    if (is_one_each(one.kind)) {
      one.begin += request - one.request;
      one.end = one.begin + 1;
      one.request = request;
    }
    out.push_back(one);
  }
  return out;
}

// They are in the order of their requests, except those of a client that used one number twice:
// that entry belongs to the one before it.
void RetainedIssues::acknowledge(std::uint32_t below,
                                 const std::function<void(const Issued&)>& dropped) {
  while (!entries_.empty() && last_request(entries_.front()) < below) {
    if (dropped) dropped(entries_.front());
    entries_.pop_front();
  }
}

}  // namespace seqd

// PurgeReport: puts the pages that the daemon answers to purge with together to what seqctl prints,
// and says where the next one begins. As in report.h, the data of the daemon is not trusted. One
// thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace seqd::seqctl {

class PurgeReport {
 public:
  // `removes`: the daemon was requested to remove, not only to list.
  PurgeReport(std::string name, bool removes) : name_(std::move(name)), removes_(removes) {}

  void add(const nlohmann::json& page);
  // Whether another page must be requested, and after which key; none: the first.
  bool more() const { return more_; }
  const std::optional<std::string>& after() const { return after_; }

  bool any() const { return !counters_.empty(); }
  nlohmann::json whole() const;
  // `complete`: no error came in between.
  std::string text(bool complete) const;
  // Of a purge that came to its end.
  int exit_code() const;

 private:
  void count(const nlohmann::json& counter);

  const std::string name_;
  const bool removes_;
  nlohmann::json counters_ = nlohmann::json::array();
  std::size_t removed_ = 0;
  std::size_t removable_ = 0;  // listed only
  std::size_t kept_ = 0;
  bool more_ = true;
  bool understood_ = true;
  std::optional<std::string> after_;
};

}  // namespace seqd::seqctl

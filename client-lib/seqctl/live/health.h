// Health: the state that a probe queries. Live: the daemon answers. Ready: it can also issue IDs of
// every sequence in use: none is stopped, none is without IDs that it may issue while its store has
// an error, and none has documents that wait because they could not be inserted. Pure but for
// check_readiness(). The data of the daemon is not trusted.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "client-lib/seqctl/asking.h"

namespace seqd::seqctl {

// One thread. Keeps a few texts, however many sequences there are.
class Readiness {
 public:
  // The answer of status; then each page of list.
  void add_status(const nlohmann::json& status);
  void add_page(const nlohmann::json& page);

  bool ready() const { return obstacles_ == 0; }
  // {"ready", "sequences", "obstacles": how many, "why": texts, a few of them}.
  nlohmann::json value() const;
  // One line, ending with a newline.
  std::string text() const;

 private:
  static constexpr std::size_t kMostReasons = 10;

  void add_obstacle(const std::string& why);

  std::set<std::string> failing_;  // stores with an error
  std::set<std::string> silent_;   // of these, without an answer since the daemon's start
  std::size_t sequences_ = 0;
  std::size_t obstacles_ = 0;
  nlohmann::json why_ = nlohmann::json::array();
};

// Asks for status and list, as far as the daemon answers.
Answered check_readiness(seqd_client* client, Readiness& readiness);

}  // namespace seqd::seqctl

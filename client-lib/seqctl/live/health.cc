#include "client-lib/seqctl/live/health.h"

#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {

using nlohmann::json;

void Readiness::add_status(const json& status) {
  const json stores = member(status, "stores");
  if (!status.is_object() || !stores.is_array())
    return add_obstacle("the daemon's reply to status is invalid");
  for (const json& store : stores) {
    const json name = member(store, "name");
    if (member(store, "error").is_null() || !name.is_string()) continue;
    failing_.insert(name.get<std::string>());
    if (member(store, "state") == "waiting") silent_.insert(name.get<std::string>());
  }
}

void Readiness::add_page(const json& page) {
  if (!page.is_array()) return add_obstacle("the daemon's reply to list is invalid");
  for (const json& row : page) {
    ++sequences_;
    const json error = member(row, "error");
    const std::string because = error.is_null() ? "" : ": " + shown(row, "error");
    const json given = member(row, "store");
    const std::string store = given.is_string() ? given.get<std::string>() : "";
    if (member(row, "state") == "stopped") {
      add_obstacle(shown(row, "name") + " is stopped" + because);
    } else if (inserts(row) && !error.is_null() && member(row, "waiting").is_number() &&
               member(row, "waiting") != json(0)) {
      // Without inserts it is not known whether the next one would fail.
      add_obstacle(shown(row, "name") + " cannot insert" + because);
    } else if (silent_.contains(store)) {
      add_obstacle(shown(row, "name") + " waits for the first answer of its store " +
                   shown(row, "store") + because);
    } else if (failing_.contains(store) && member(row, "available") == json(0)) {
      add_obstacle(shown(row, "name") + " has no IDs, and its store " + shown(row, "store") +
                   " has an error" + because);
    }
  }
}

void Readiness::add_obstacle(const std::string& why) {
  ++obstacles_;
  if (why_.size() < kMostReasons) why_.push_back(why);
}

json Readiness::value() const {
  return {{"ready", ready()}, {"sequences", sequences_}, {"obstacles", obstacles_}, {"why", why_}};
}

std::string Readiness::text() const {
  if (ready()) return "ready, " + std::to_string(sequences_) + " sequences in use\n";
  const std::string more =
      obstacles_ == 1 ? "" : " (and " + std::to_string(obstacles_ - 1) + " more)";
  return "not ready: " + why_.front().get<std::string>() + more + "\n";
}

Answered check_readiness(seqd_client* client, Readiness& readiness) {
  Answered answered = ask(client, "status");
  if (!answered.ok()) return answered;
  readiness.add_status(answered.value);
  for (Pages pages(client); pages.more();) {
    answered = pages.next();
    if (!answered.ok()) return answered;
    readiness.add_page(answered.value);
  }
  return answered;
}

}  // namespace seqd::seqctl

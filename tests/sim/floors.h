// Floors: to which IDs counters were advanced for every host, as the database has committed it, and
// when. A daemon that started later, and whose store has answered all its calls, knows. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace seqd::sim {

class Floors {
 public:
  void raise(const std::string& database, const std::string& key, std::int64_t floor,
             std::int64_t now_ms) {
    Floor& known = floors_[{database, key}];
    if (floor > known.id) known = {floor, now_ms};
  }
  // The one that was there at that time; 0: none.
  std::int64_t before(const std::string& database, const std::string& key,
                      std::int64_t time_ms) const {
    const auto found = floors_.find({database, key});
    return found != floors_.end() && found->second.raised_ms < time_ms ? found->second.id : 0;
  }

 private:
  struct Floor {
    std::int64_t id = 0;
    std::int64_t raised_ms = 0;
  };
  std::map<std::pair<std::string, std::string>, Floor> floors_;  // by database and key
};

}  // namespace seqd::sim

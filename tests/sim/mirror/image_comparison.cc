#include "tests/sim/mirror/image_comparison.h"

#include <algorithm>

#include "tests/unit/world.h"

namespace seqd::sim {
namespace {

bool same_scope(const DefineScope& a, const DefineScope& b) {
  // A start without its witness makes a claim under way one that was not begun.
  return a.store == b.store && a.instance == b.instance && a.epoch == b.epoch &&
         (a.state == ScopeState::owned) == (b.state == ScopeState::owned);
}

bool same_sequence(const SequenceImage& a, const SequenceImage& b) {
  // A reservation that was read is made again.
  const auto same_range = [](const AvailableRange& one, const AvailableRange& other) {
    return one.lease == other.lease && one.begin == other.begin && one.end == other.end;
  };
  return a.definition == b.definition && a.intent == b.intent && a.totals == b.totals &&
         a.returning == b.returning && a.used_below == b.used_below && a.blocks == b.blocks &&
         std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(), same_range);
}

}  // namespace

bool same_clients(const StateImage& a, const StateImage& b) {
  return std::equal(a.clients.begin(), a.clients.end(), b.clients.begin(), b.clients.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first &&
                             one.second.identity == other.second.identity &&
                             one.second.acknowledged_below == other.second.acknowledged_below &&
                             by_request(one.second) == by_request(other.second);
                    });
}

bool same_image(const StateImage& a, const StateImage& b) {
  const auto same = [](const auto& one, const auto& other, auto equal) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [&](const auto& x, const auto& y) {
                        return x.first == y.first && equal(x.second, y.second);
                      });
  };
  return same(a.scopes, b.scopes, same_scope) && a.databases == b.databases &&
         a.heartbeats == b.heartbeats && a.names == b.names &&
         same(a.sequences, b.sequences, same_sequence) && a.next_numbers == b.next_numbers &&
         same_clients(a, b);
}

}  // namespace seqd::sim

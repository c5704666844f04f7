// The fate of one ID, derived from the facts of the core, the history and the store. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/history/history_answers.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/rpc/external.h"

namespace seqd {

struct IdFacts {
  std::int64_t ordinal = 0;  // as the core and the history count
  std::int64_t id = 0;       // as requested
  std::int64_t times = 0;    // how often the ID came here, this ordinal included; of cycles
  Progression progression;
  bool served = false;  // the core has the sequence
  bool available = false;
  std::optional<Block> block;   // that it is out in
  std::string block_client;     // the client of that, as text; empty: not known, or not shown
  Token lease{};                // of the available range, or of the block
  bool returning = false;       // back to the store
  bool leasing = false;         // a lease is under way, and its range is not known yet
  bool forgotten = false;       // of a period that was over long ago: the core has it no more
  std::int64_t high_water = 0;  // end of the highest range this host was granted and did not return
  IdAnswer history;
  std::optional<CounterReading> counter;  // of the store
  Status store;                           // why there is none
};

enum class IdFate : std::uint8_t {
  issued,      // by this host
  gap,         // leased by this host, and never to be issued
  available,   // leased by this host, to be issued
  block,       // in a block of a client, which takes its IDs in its process
  returned,    // leased by this host, and returned, or being returned, to the store
  not_issued,  // by no host yet: the counter is below
  leasing,     // in the lease that this host has under way, or never leased by it
  elsewhere,   // below the counter, and never leased by this host
  older,       // older than what is kept: issued here, or another host's
};

std::string_view fate_name(IdFate fate);

struct Explanation {
  IdFate fate = IdFate::older;
  std::string text;  // one sentence
};

Explanation explain(const IdFacts& facts);
// Whether the answer needs a query of the store.
bool needs_store(const IdFacts& facts);

}  // namespace seqd

// MetricsPage: what the daemon answers to GET /metrics, made in pieces: figures that are counted
// anyway, and a bounded number of sequences one by one (SequenceRates::shown()). No piece walks
// past the sequences, and nothing is made before it can be sent. Figures of one piece are of one
// moment. Made for one answer; loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "daemon/core/insert/insert_queues.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/rpc/control.h"
#include "daemon/rpc/metrics/metrics_text.h"
#include "daemon/rpc/server.h"

namespace seqd {

// Where the figures come from. All of it outlives the pages.
struct MetricsSource {
  SequenceTable& table;
  const Control& control;
  const Server& server;
  const Clock& clock;
  const InsertQueues* inserts = nullptr;  // null: no sequence inserts
  const Registers* registers = nullptr;   // null: there are none
};

class MetricsPage {
 public:
  static constexpr std::size_t kPieceBytes = 8'192;
  // What stands in the label for the sequences that are not shown one by one: no name.
  static constexpr std::string_view kOthers = "(others)";

  MetricsPage(const MetricsSource& source, MetricsFormat format);

  // Appends the next piece: about kPieceBytes; a single family of a store or a sequence is not
  // divided. False: nothing follows it.
  bool more(std::string& out);

 private:
  // Each writes a part, or the next bit of it, and says whether the part is over.
  bool daemon(MetricsText& text);
  bool requests(MetricsText& text);
  bool leases(MetricsText& text);
  bool lease_durations(MetricsText& text);
  bool log(MetricsText& text);
  bool totals(MetricsText& text);
  bool available(MetricsText& text);
  bool out(MetricsText& text);
  bool issued(MetricsText& text);
  bool runways(MetricsText& text);
  const SequenceRates::Row* next_row();

  const MetricsSource source_;
  const MetricsFormat format_;
  const DaemonFacts facts_;
  const std::shared_ptr<const SequenceRates::Shown> shown_;
  std::size_t part_ = 0;
  std::size_t row_ = 0;  // of the part: a store, or a sequence
  bool begun_ = false;   // the part
};

}  // namespace seqd

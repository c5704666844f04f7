#include "daemon/rpc/metrics/metrics_page.h"

#include <array>
#include <span>
#include <string_view>

#include "daemon/rpc/ending.h"

namespace seqd {
namespace {

using Kind = MetricFamily::Kind;

constexpr MetricFamily kBuild{Kind::gauge, "seqd_build_info",
                              "Always 1; the label has the version."};
constexpr MetricFamily kUptime{Kind::gauge, "seqd_uptime_seconds", "Since this process started."};
constexpr MetricFamily kConnections{Kind::gauge, "seqd_connections", "Clients that are connected."};
constexpr MetricFamily kRequests{Kind::counter, "seqd_requests",
                                 "Requests by method; unknown: there is no such method."};
constexpr MetricFamily kRefused{Kind::counter, "seqd_requests_refused",
                                "Requests that were answered with an error, by its code."};
constexpr MetricFamily kStoreUp{Kind::gauge, "seqd_store_up",
                                "0: the store is down or has not answered yet, or is another or an "
                                "older database; its sequences "
                                "lease nothing."};
constexpr MetricFamily kLeases{
    Kind::counter, "seqd_leases",
    "Answers of a store to leases, and to look-ups of leases whose outcome was unknown."};
constexpr MetricFamily kLeaseDuration{Kind::histogram, "seqd_lease_duration_seconds",
                                      "Time that a store took to answer a lease."};
constexpr MetricFamily kSyncDuration{Kind::histogram, "seqd_log_sync_duration_seconds",
                                     "Time that the medium took to sync the log."};
constexpr MetricFamily kRotations{Kind::counter, "seqd_log_rotations",
                                  "Files of the log that were replaced by a new one."};
constexpr MetricFamily kIssued{Kind::counter, "seqd_ids_issued",
                               "IDs issued, and documents inserted, since the process started."};
constexpr MetricFamily kGaps{Kind::counter, "seqd_gap_ids",
                             "IDs that became a gap since the process started, by cause."};
constexpr MetricFamily kWaiting{Kind::gauge, "seqd_waiting_requests",
                                "Requests that wait for IDs."};
constexpr MetricFamily kSequences{Kind::gauge, "seqd_sequences", "Sequences in use."};
constexpr MetricFamily kStopped{Kind::gauge, "seqd_stopped_sequences",
                                "Sequences that issue nothing, or had too few IDs for a request "
                                "and have not served one of that size since."};
constexpr MetricFamily kEnding{
    Kind::gauge, "seqd_ending_sequences",
    "Sequences with less than a tenth of their IDs left to lease, or for less than 30 days."};
constexpr MetricFamily kAvailable{Kind::gauge, "seqd_available_ids",
                                  "Leased IDs that are not issued yet, of all sequences."};
constexpr MetricFamily kOut{Kind::gauge, "seqd_out_ids",
                            "IDs that are out in blocks of clients, of all sequences."};
constexpr MetricFamily kRunway{
    Kind::gauge, "seqd_runway_seconds",
    "How long the available IDs last at the rate at which they are requested: of the sequence "
    "where it is shortest."};
constexpr MetricFamily kAvailableOf{
    Kind::gauge, "seqd_sequence_available_ids",
    "Available IDs of the sequences that issue most; (others): of all other sequences."};
constexpr MetricFamily kOutOf{Kind::gauge, "seqd_sequence_out_ids",
                              "IDs that are out in blocks, of the sequences that issue most; "
                              "(others): of all other sequences."};
constexpr MetricFamily kIssuedOf{
    Kind::counter, "seqd_sequence_issued_ids",
    "IDs issued since the process started by the sequences that issue most; (others): by all "
    "others. An ID is counted once."};
constexpr MetricFamily kRunwayOf{
    Kind::gauge, "seqd_sequence_runway_seconds",
    "How long the available IDs of a sequence last at the rate at which they are requested."};

double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1'000.0;
}

// A store that was not needed yet waits without an error; with an error, none of its IDs may be
// issued.
bool is_up(const StoreFacts& store) {
  return store.state == "ready" || (store.state == "waiting" && store.error.empty());
}

}  // namespace

MetricsPage::MetricsPage(const MetricsSource& source, MetricsFormat format)
    : source_(source),
      format_(format),
      facts_(source.control.facts()),
      shown_(source.table.accounts().rates().shown()) {}

bool MetricsPage::more(std::string& out) {
  using Write = bool (MetricsPage::*)(MetricsText&);
  static constexpr std::array<Write, 10> kParts = {
      &MetricsPage::daemon,          &MetricsPage::requests, &MetricsPage::leases,
      &MetricsPage::lease_durations, &MetricsPage::log,      &MetricsPage::totals,
      &MetricsPage::available,       &MetricsPage::out,      &MetricsPage::issued,
      &MetricsPage::runways};
  MetricsText text(out, format_);
  const std::size_t before = out.size();
  while (part_ < kParts.size() && out.size() - before < kPieceBytes) {
    if (!(this->*kParts.at(part_))(text)) {
      begun_ = true;
      continue;
    }
    ++part_;
    row_ = 0;
    begun_ = false;
  }
  if (part_ < kParts.size()) return true;
  text.end();
  return false;
}

bool MetricsPage::daemon(MetricsText& text) {
  text.begin(kBuild);
  text.sample(kBuild, {{"version", facts_.version}}, std::int64_t{1});
  text.begin(kUptime);
  text.sample(kUptime, {}, seconds(facts_.uptime_ms));
  text.begin(kConnections);
  text.sample(kConnections, {}, static_cast<std::int64_t>(source_.server.counts().connections));
  return true;
}

bool MetricsPage::requests(MetricsText& text) {
  const ServerCounts& counts = source_.server.counts();
  text.begin(kRequests);
  const std::span<const Route> routes = all_routes();
  for (std::size_t at = 0; at < counts.requests_of.size(); ++at) {
    const std::string_view method = at < routes.size() ? routes[at].name : "unknown";
    text.sample(kRequests, {{"method", method}},
                static_cast<std::int64_t>(counts.requests_of.at(at)));
  }
  text.begin(kRefused);
  const RefusalCounts& refusals = source_.server.refusals();
  for (std::size_t at = 1; at < refusals.size(); ++at) {
    text.sample(kRefused, {{"code", error_name(static_cast<ErrorCode>(at))}},
                static_cast<std::int64_t>(refusals.at(at)));
  }
  return true;
}

bool MetricsPage::leases(MetricsText& text) {
  text.begin(kStoreUp);
  for (const StoreFacts& store : facts_.stores)
    text.sample(kStoreUp, {{"store", store.name}}, std::int64_t{is_up(store) ? 1 : 0});
  text.begin(kLeases);
  for (const StoreFacts& store : facts_.stores) {
    if (store.leases == nullptr) continue;
    for (std::size_t at = 0; at < kLeaseResults; ++at) {
      text.sample(
          kLeases,
          {{"store", store.name}, {"outcome", lease_result_word(static_cast<LeaseResult>(at))}},
          static_cast<std::int64_t>(store.leases->ended.at(at)));
    }
  }
  return true;
}

bool MetricsPage::lease_durations(MetricsText& text) {
  if (!begun_) text.begin(kLeaseDuration);
  if (row_ == facts_.stores.size()) return true;
  const StoreFacts& store = facts_.stores[row_++];
  if (store.leases != nullptr)
    text.histogram(kLeaseDuration, {{"store", store.name}}, store.leases->durations);
  return false;
}

bool MetricsPage::log(MetricsText& text) {
  text.begin(kSyncDuration);
  if (facts_.log_sync_durations != nullptr)
    text.histogram(kSyncDuration, {}, *facts_.log_sync_durations);
  text.begin(kRotations);
  text.sample(kRotations, {}, static_cast<std::int64_t>(facts_.log_rotations));
  return true;
}

bool MetricsPage::totals(MetricsText& text) {
  const SequenceAccounts& accounts = source_.table.accounts();
  const SequenceBudgets& budgets = source_.table.budgets();
  const bool inserts = source_.inserts != nullptr;
  const bool keeps = source_.registers != nullptr;
  text.begin(kIssued);
  text.sample(kIssued, {}, accounts.issued_here() + (inserts ? source_.inserts->inserted() : 0));
  text.begin(kGaps);
  for (std::size_t at = 0; at < kGapCauses; ++at) {
    text.sample(kGaps, {{"cause", gap_cause_name(static_cast<GapCause>(at))}},
                budgets.gap_ids().at(at));
  }
  text.begin(kWaiting);
  text.sample(kWaiting, {},
              budgets.waiting() + (inserts ? source_.inserts->waiting() : 0) +
                  (keeps ? source_.registers->waiting() : 0));
  text.begin(kSequences);
  text.sample(kSequences, {},
              static_cast<std::int64_t>(source_.table.sequences().size() +
                                        (inserts ? source_.inserts->size() : 0) +
                                        (keeps ? source_.registers->size() : 0)));
  text.begin(kStopped);
  text.sample(kStopped, {}, accounts.sums().stopped + (keeps ? source_.registers->stopped() : 0));
  text.begin(kEnding);
  text.sample(kEnding, {},
              static_cast<std::int64_t>(
                  ending_sequences(source_.table, source_.clock.monotonic_ms()).size()));
  text.begin(kAvailable);
  text.sample(kAvailable, {}, accounts.sums().available);
  text.begin(kOut);
  text.sample(kOut, {}, source_.table.blocks().ids());
  text.begin(kRunway);
  if (const auto& runway = accounts.rates().smallest())
    text.sample(kRunway, {}, seconds(runway->ms));
  return true;
}

// The next sequence that is still there; null: there is none.
const SequenceRates::Row* MetricsPage::next_row() {
  while (row_ < shown_->rows.size()) {
    const SequenceRates::Row& row = shown_->rows[row_++];
    if (source_.table.sequences().contains(row.sequence)) return &row;
  }
  return nullptr;
}

bool MetricsPage::available(MetricsText& text) {
  if (!begun_) text.begin(kAvailableOf);
  const SequenceRates::Row* const row = next_row();
  if (row == nullptr) {
    text.sample(kAvailableOf, {{"sequence", kOthers}}, shown_->available);
    return true;
  }
  text.sample(kAvailableOf, {{"sequence", source_.table.at(row->sequence).name()}}, row->available);
  return false;
}

bool MetricsPage::out(MetricsText& text) {
  if (!begun_) text.begin(kOutOf);
  const SequenceRates::Row* const row = next_row();
  if (row == nullptr) {
    text.sample(kOutOf, {{"sequence", kOthers}}, shown_->out);
    return true;
  }
  text.sample(kOutOf, {{"sequence", source_.table.at(row->sequence).name()}}, row->out);
  return false;
}

bool MetricsPage::issued(MetricsText& text) {
  if (!begun_) text.begin(kIssuedOf);
  const SequenceRates::Row* const row = next_row();
  if (row == nullptr) {
    text.sample(kIssuedOf, {{"sequence", kOthers}}, shown_->others_issued);
    return true;
  }
  text.sample(kIssuedOf, {{"sequence", source_.table.at(row->sequence).name()}}, row->issued);
  return false;
}

bool MetricsPage::runways(MetricsText& text) {
  if (!begun_) text.begin(kRunwayOf);
  const SequenceRates::Row* const row = next_row();
  if (row == nullptr) return true;
  if (row->runway_ms) {
    text.sample(kRunwayOf, {{"sequence", source_.table.at(row->sequence).name()}},
                seconds(*row->runway_ms));
  }
  return false;
}

}  // namespace seqd

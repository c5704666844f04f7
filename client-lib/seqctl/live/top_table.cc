#include "client-lib/seqctl/live/top_table.h"

#include <algorithm>
#include <tuple>

#include "client-lib/seqctl/live/stat_report.h"
#include "client-lib/seqctl/reports/report.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestWord = 64;  // of a store or a state

std::string word(const json& listed, const char* key) {
  const json value = member(listed, key);
  return value.is_string() ? value.get_ref<const std::string&>().substr(0, kLongestWord) : "";
}

bool is_busier(const TopTable::Row* first, const TopTable::Row* second) {
  const auto order = [](const TopTable::Row* row) {
    return std::make_tuple(-row->rate.value_or(0), -row->waiting, row->state != "stopped");
  };
  if (order(first) != order(second)) return order(first) < order(second);
  return first->name < second->name;
}

}  // namespace

std::optional<double> TopTable::Row::runway() const {
  if (!rate || *rate <= 0) return std::nullopt;
  return static_cast<double>(available) / *rate;
}

void TopTable::add_row(const json& listed, std::int64_t now_ms) {
  const json name = member(listed, "name");
  if (!name.is_string() || name.get_ref<const std::string&>().size() > kLongestName) return;
  const auto found = rows_.find(name.get_ref<const std::string&>());
  if (found == rows_.end() && rows_.size() >= kMostSequences) return;
  Row& row = found != rows_.end() ? found->second : rows_[name.get<std::string>()];
  const auto issued = count_of(listed, "issued");
  row.rate.reset();
  if (row.round > 0 && issued && row.issued && *issued >= *row.issued && *row.issued >= 0) {
    // A late sample and the next one may be within a millisecond.
    const std::int64_t passed_ms = std::max<std::int64_t>(now_ms - row.seen_ms, 1);
    row.rate = static_cast<double>(*issued - *row.issued) * 1'000 / static_cast<double>(passed_ms);
  }
  if (row.round != round_) ++in_round_;
  row.name = name.get<std::string>();
  row.store = word(listed, "store");
  row.state = word(listed, "state");
  row.available = std::max<std::int64_t>(count_of(listed, "available").value_or(0), 0);
  row.out = std::max<std::int64_t>(count_of(listed, "out").value_or(0), 0);
  row.waiting = std::max<std::int64_t>(count_of(listed, "waiting").value_or(0), 0);
  row.issued = issued;
  row.since_ms = row.round > 0 ? row.seen_ms : now_ms;
  row.seen_ms = now_ms;
  row.round = round_;
}

void TopTable::add_page(const json& page, std::int64_t now_ms) {
  if (!page.is_array()) return;
  for (const json& listed : page) add_row(listed, now_ms);
}

void TopTable::end_round() {
  std::erase_if(rows_, [this](const auto& each) { return each.second.round != round_; });
  ++round_;
  partial_ = is_full();
  in_round_ = 0;
}

std::size_t TopTable::stopped() const {
  return static_cast<std::size_t>(std::count_if(
      rows_.begin(), rows_.end(), [](const auto& each) { return each.second.state == "stopped"; }));
}

std::vector<const TopTable::Row*> TopTable::busiest(std::size_t most) const {
  std::vector<const Row*> all;
  all.reserve(rows_.size());
  for (const auto& [name, row] : rows_) all.push_back(&row);
  const std::size_t shown = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    is_busier);
  all.resize(shown);
  return all;
}

std::string plain_cell(const std::string& text, std::size_t most) {
  std::string cell = text.substr(0, most);
  for (char& each : cell) {
    if (each < ' ' || each > '~') each = '?';
  }
  if (text.size() > most && most > 0) cell.back() = '~';
  return cell;
}

}  // namespace seqd::seqctl

#include "daemon/store/mongo/documents/mongo_lease_sweep.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/store/mongo/documents/mongo_binding.h"
#include "daemon/store/mongo/documents/mongo_instances.h"
#include "daemon/store/mongo/documents/mongo_record_format.h"

namespace seqd {
namespace {

constexpr int kMostEntries = 100;  // of one sweep
constexpr std::size_t kMostRemovals = 20;
constexpr std::chrono::seconds kPatience{2};  // a thread is kept from the store's leases
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::size_t kInstanceDigits = 32;  // a lease slot begins with its instance

// Whether the date in `field` is longer ago than a record is kept.
Document is_old(const std::string& field) {
  const std::int64_t kept =
      std::chrono::duration_cast<std::chrono::milliseconds>(MongoLeaseSweep::kKept).count();
  const Document ago =
      std::move(Document().add_array("$subtract", Document().add("0", "$$NOW").add("1", kept)));
  // A missing date is lower than any.
  return std::move(Document().add_array("$lt", Document().add("0", "$" + field).add("1", ago)));
}

// By our own clock.
std::int64_t oldest_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             (std::chrono::system_clock::now() - MongoLeaseSweep::kKept).time_since_epoch())
      .count();
}

struct Slot {
  std::string slot;
  std::int64_t at_ms = 0;
};

std::vector<Slot> slots_of(const Document& document) {
  std::vector<Slot> slots;
  bson_iter_t found;
  bson_iter_t slot;
  if (!find_field(document.get(), kMongoSlots, &found) || !BSON_ITER_HOLDS_DOCUMENT(&found) ||
      !bson_iter_recurse(&found, &slot))
    return slots;
  while (bson_iter_next(&slot)) {
    Slot one{.slot = bson_iter_key(&slot)};
    bson_iter_t field;
    if (BSON_ITER_HOLDS_DOCUMENT(&slot) && bson_iter_recurse(&slot, &field) &&
        bson_iter_find(&field, kMongoRecordTime) && BSON_ITER_HOLDS_DATE_TIME(&field))
      one.at_ms = bson_iter_date_time(&field);
    // Others' names with dots cannot be addressed, and are not ours.
    if (one.slot.find('.') == std::string::npos && one.slot.size() > kInstanceDigits)
      slots.push_back(std::move(one));
  }
  std::sort(slots.begin(), slots.end(),
            [](const Slot& a, const Slot& b) { return a.at_ms < b.at_ms; });
  return slots;
}

}  // namespace

void MongoLeaseSweep::ledger_became_more() {
  const std::lock_guard lock(mutex_);
  ledger_due_ = ledger_due_ || std::chrono::steady_clock::now() >= next_;
}

void MongoLeaseSweep::slots_became_more(const LeaseRequest& request) {
  const std::lock_guard lock(mutex_);
  if (slots_due_.size() < kMostWaiting) slots_due_.push_back(request);
}

bool MongoLeaseSweep::is_due() const {
  const std::lock_guard lock(mutex_);
  return ledger_due_ || !slots_due_.empty();
}

void MongoLeaseSweep::run() {
  bool ledger = false;
  std::vector<LeaseRequest> slots;
  const Time now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    ledger = std::exchange(ledger_due_, false);
    if (ledger) next_ = now + std::chrono::hours(1);
    slots.swap(slots_due_);
  }
  if (ledger) sweep_ledger(now + kPatience);
  for (const LeaseRequest& request : slots) sweep_slots(request, now + kPatience);
}

// By an index, where the server lets us make one: the ledger has a record for each lease slot.
void MongoLeaseSweep::sweep_ledger(Time end) {
  bool indexed = true;
  {
    const std::lock_guard lock(mutex_);
    indexed = std::exchange(indexed_, true);
  }
  if (!indexed) {
    const Document index = std::move(Document()
                                         .add("key", Document().add_shortest(kMongoRecordTime, 1))
                                         .add("name", std::string(kMongoRecordTime) + "_1"));
    static_cast<void>(clients_.run(Document()
                                       .add("createIndexes", kMongoLedger)
                                       .add_array("indexes", Document().add("0", index)),
                                   kMongoLedger, 0));
  }
  for (int i = 0; i < kMostEntries && std::chrono::steady_clock::now() < end; ++i) {
    // This host's clock is used for the index; the server's clock decides.
    const Document old =
        std::move(Document()
                      .add(kMongoRecordTime, Document().add_date("$lt", oldest_ms() + kDayMs))
                      .add("$expr", is_old(kMongoRecordTime)));
    auto read = clients_.read(kMongoLedger, old);
    if (!read.ok() || !read->has_value()) return;
    bson_iter_t found;
    if (!find_field((*read)->get(), "_id", &found) || !BSON_ITER_HOLDS_UTF8(&found)) return;
    const std::string slot = bson_iter_utf8(&found, nullptr);
    if (!MongoInstances(clients_).note_swept(slot.substr(0, kInstanceDigits)).ok()) return;
    MongoWrite write;
    write.collection = kMongoLedger;
    write.filter.add("_id", slot).add("$expr", is_old(kMongoRecordTime));
    write.remove = true;
    if (clients_.find_and_modify(write).kind != MongoWriteAnswer::Kind::done) return;
  }
}

void MongoLeaseSweep::sweep_slots(const LeaseRequest& request, Time end) {
  const CounterBinding& binding = request.binding;
  auto read = clients_.read(binding.collection, key_filter(binding));
  if (!read.ok() || !read->has_value()) return;
  std::vector<Slot> slots = slots_of(**read);
  std::erase_if(slots, [own = slot_of(request)](const Slot& slot) { return slot.slot == own; });
  // This host's clock only selects candidates; if it is wrong, a request is wasted.
  const std::int64_t old_ms = oldest_ms();
  const std::size_t excess = slots.size() < kMostSlots ? 0 : slots.size() + 1 - kMostSlots;
  for (std::size_t i = 0; i < std::min(slots.size(), kMostRemovals); ++i) {
    if (std::chrono::steady_clock::now() >= end) return;
    const bool too_many = i < excess;
    if (!too_many && slots[i].at_ms >= old_ms) return;
    const std::string field = mongo_slot_path(slots[i].slot);
    if (!MongoInstances(clients_).note_swept(slots[i].slot.substr(0, kInstanceDigits)).ok()) return;
    MongoWrite write;
    write.collection = binding.collection;
    write.filter = key_filter(binding);
    if (!too_many) write.filter.add("$expr", is_old(field + "." + kMongoRecordTime));
    write.update.add("$unset", Document().add(field, true));
    write.returned_field = "_id";
    if (clients_.find_and_modify(write).kind != MongoWriteAnswer::Kind::done) return;
  }
}

}  // namespace seqd

// Any bytes as what a web service answers to a DynamoDB store, one answer a line behind its status:
// no crash, no hang; every verb answers exactly once; a range is granted only within what was asked
// for; a record is that of the key or number; and errors say something.
//
// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/*
// link: daemon/store/dynamo/*.cc daemon/store/dynamo/lease daemon/store/dynamo/wire
// link: daemon/store/dynamo/credentials daemon/store/dynamo/register
// link: daemon/store/counter_value.cc daemon/store/lease_trace.cc
// link: daemon/store/unconfirmed_leases.cc
// libs: -lfmt -lcrypto
// seeds: tests/fuzz/dynamo_seeds.py
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/store/dynamo/dynamo_store.h"

namespace {

constexpr int kMostSteps = 100;  // of one verb, far more than any needs

// Loop, timers, clock, random numbers and network in one: calls wait here until they are run.
class World final : public seqd::HttpClient,
                    public seqd::Timers,
                    public seqd::Clock,
                    public seqd::Random {
 public:
  explicit World(std::string_view answers) : answers_(answers) {}

  void send(seqd::HttpRequest /*request*/, std::function<void(seqd::HttpReply)> done) override {
    waiting_.push_back([done = std::move(done), reply = next_reply()] { done(reply); });
  }
  seqd::TimerId schedule(std::int64_t /*delay_ms*/, std::function<void()> call) override {
    waiting_.push_back(std::move(call));
    return 1;
  }
  void cancel(seqd::TimerId /*id*/) override {}
  std::int64_t monotonic_ms() const override { return 0; }
  std::int64_t wall_ms() const override { return 1'800'000'000'000; }
  std::uint64_t next() override { return 7; }

  void run() {
    int steps = 0;
    while (!waiting_.empty()) {
      ASSERT(++steps < kMostSteps);
      const std::function<void()> call = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      call();
    }
  }

 private:
  // "200 {...}"; none when the input is at its end.
  seqd::HttpReply next_reply() {
    seqd::HttpReply reply;
    const std::size_t end = std::min(answers_.find('\n'), answers_.size());
    const std::string_view line = answers_.substr(0, end);
    answers_.remove_prefix(std::min(end + 1, answers_.size()));
    for (const char c : line.substr(0, 3)) reply.status = reply.status * 10 + (c - 48);
    reply.sent = !line.empty();
    reply.body = line.substr(std::min<std::size_t>(4, line.size()));
    reply.error = "broken";
    return reply;
  }

  std::string_view answers_;
  std::vector<std::function<void()>> waiting_;
};

seqd::LeaseRequest request_of(std::uint8_t choice) {
  seqd::LeaseRequest request;
  request.binding.key = "orders";
  request.binding.meaning = static_cast<seqd::Meaning>(choice % 3);
  request.token.fill(1);
  if ((choice & 4) == 0) {
    const std::uint8_t mark[] = {0x5e, 0x9d, 0x1e, 0xa2};
    std::copy(std::begin(mark), std::end(mark), request.token.begin());
  }
  request.instance.fill(7);
  request.sequence = "orders";
  request.count = 10;
  request.high_water = (choice & 8) != 0 ? 50 : 0;
  request.max_value = 1'000;
  request.take_parked = (choice & 16) != 0;
  return request;
}

class Known final : public seqd::AwsProvider {
 public:
  void get(std::function<void(const Given&)> done) override { done(credentials_); }
  bool refused(const seqd::AwsCredentials& /*credentials*/, seqd::AwsRefusal /*why*/) override {
    return false;
  }

 private:
  const std::shared_ptr<const seqd::AwsCredentials> credentials_ =
      std::make_shared<const seqd::AwsCredentials>(seqd::AwsCredentials{"id", "secret", ""});
};

void check_error(bool wanted, const seqd::Status& error) {
  ASSERT(!wanted || (!error.ok() && !error.text().empty() && error.text().size() < 2'000));
}

void lease(World& world, seqd::DynamoStore& store, const seqd::LeaseRequest& request) {
  int answers = 0;
  store.lease(request, [&](const seqd::LeaseOutcome& outcome) {
    ++answers;
    const bool granted = outcome.kind == seqd::LeaseOutcome::Kind::granted;
    check_error(!granted, outcome.error);
    if (!granted) return;
    ASSERT(outcome.begin >= 1 && outcome.begin < outcome.end);
  });
  world.run();
  ASSERT(answers == 1);
}

void other_verbs(World& world, seqd::DynamoStore& store, const seqd::LeaseRequest& request) {
  int answers = 0;
  store.resolve(request, [&](const seqd::Resolution& found) {
    ++answers;
    check_error(found.kind == seqd::Resolution::Kind::failed, found.error);
  });
  world.run();
  store.claim({.instance = request.instance, .epoch = 3, .nonce = request.token},
              [&](const seqd::Result<seqd::ClaimOutcome>& outcome) {
                ++answers;
                check_error(!outcome.ok(), outcome.status());
              });
  world.run();
  store.read({.binding = request.binding, .instance = request.instance},
             [&](const seqd::Result<seqd::CounterReading>& reading) {
               ++answers;
               check_error(!reading.ok(), reading.status());
             });
  world.run();
  store.advance({.binding = request.binding, .next_id = 500},
                [&](const seqd::Result<std::int64_t>& next) {
                  ++answers;
                  ASSERT(!next.ok() || *next >= 500);
                });
  world.run();
  seqd::ReturnRequest back;
  back.binding = request.binding;
  back.token = request.token;
  back.instance = request.instance;
  back.sequence = request.sequence;
  back.begin = 5;
  back.end = 11;
  back.reuse = request.take_parked ? seqd::Reuse::parked : seqd::Reuse::tail;
  back.give_up = request.high_water > 0;
  store.return_range(back, [&](const seqd::ReturnOutcome& outcome) {
    ++answers;
    check_error(outcome.kind != seqd::ReturnOutcome::Kind::returned, outcome.error);
  });
  world.run();
  ASSERT(answers == 5);
}

void register_verbs(World& world, seqd::DynamoStore& store, const seqd::LeaseRequest& request) {
  seqd::RegisterPlace place;
  place.binding = request.binding;
  place.instance = request.instance;
  place.heartbeat = request.heartbeat;
  int answers = 0;
  store.read_register({place, {"a", "b"}, {1, 2}, 2}, [&](const auto& reading) {
    ++answers;
    check_error(!reading.ok(), reading.status());
    if (!reading.ok()) return;
    ASSERT(reading->of_keys.size() == 2 && reading->of_numbers.size() == 2);
    if (reading->of_keys[0]) ASSERT(reading->of_keys[0]->key == "a");
    if (reading->of_numbers[1]) ASSERT(reading->of_numbers[1]->number == 2);
  });
  world.run();
  seqd::RegisterWrite write{place, {}};
  write.changes.resize(3);
  write.changes[0].number = 2;
  write.changes[0].kind = seqd::RegisterChange::Kind::cancel;
  write.changes[0].key = "b";
  write.changes[0].free = true;
  write.changes[1].number = 3;
  write.changes[1].key = "a";
  write.changes[2].number = 4;
  store.write_register(write, [&](const seqd::RegisterOutcome& outcome) {
    ++answers;
    using Kind = seqd::RegisterOutcome::Kind;
    ASSERT((outcome.done == 3) == (outcome.kind == Kind::all) && outcome.done <= 3);
    check_error(outcome.kind != Kind::all && outcome.kind != Kind::changed, outcome.error);
  });
  world.run();
  store.list_register({place, 0, {}, 5}, [&](const auto& records) {
    ++answers;
    check_error(!records.ok(), records.status());
    ASSERT(!records.ok() || records->size() <= 5);
  });
  world.run();
  ASSERT(answers == 3);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  World world(text);
  Known credentials;
  seqd::DynamoStoreOptions options;
  options.region = "eu-central-1";
  options.plain = (data[0] & 4) != 0;
  auto store = seqd::DynamoStore::open(world, world, world, world, options, credentials);
  ASSERT(store.ok());
  const seqd::LeaseRequest request = request_of(data[0]);
  if ((data[1] & 1) == 0) {
    lease(world, **store, request);
    seqd::LeaseRequest second = request;
    second.token.back() = 9;
    lease(world, **store, second);
  }
  if ((data[1] & 2) == 0) {
    other_verbs(world, **store, request);
  } else {
    register_verbs(world, **store, request);
  }
  return 0;
}

#include "client-lib/blocks/block_source.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "client-lib/session/monotonic.h"
#include "protocol/values/value_reader.h"
#include "protocol/values/value_writer.h"

namespace seqd::engine {
namespace {

// Another thread may have opened another socket meanwhile.
constexpr std::int64_t kLongestSleepMs = 100;
constexpr std::size_t kAnswersAtOnce = 64;
constexpr std::uint64_t kNoGeneration = std::numeric_limits<std::uint64_t>::max();

Request make_call(std::string_view method) {
  Request request;
  request.method = Request::Method::call;
  request.name = method;
  request.body = std::make_unique<Request::Body>();
  return request;
}

protocol::ValueReader reader_of(const std::string& bytes) {
  return protocol::ValueReader({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// Whether the last ID is an ID.
bool is_within(std::int64_t first, std::int64_t step, std::int64_t count) {
  std::int64_t way = 0;
  std::int64_t last = 0;
  return step != 0 && !__builtin_mul_overflow(step, count - 1, &way) &&
         !__builtin_add_overflow(first, way, &last);
}

}  // namespace

BlockSource::BlockSource(std::unique_ptr<Client> client, std::string name, bool revocable)
    : name_(std::move(name)),
      revocable_(revocable),
      client_(std::move(client)),
      page_generation_(kNoGeneration) {
  page_order_.kind = BlockOrder::Kind::page;
  if (!revocable_)
    no_page_ = {SEQD_E_UNAVAILABLE, "this system has no membarrier(2): there are no blocks"};
}

BlockSource::~BlockSource() {
  if (client_->generation() != 0) client_->show_end();  // it was connected once, at least
}

// --- requests

void BlockSource::ask(BlockOrder& order, Request&& request) {
  request.tag = &order;
  order.outcome = {};
  order.outcome = client_->submit(std::move(request), order.number);
  order.state = order.outcome.ok() ? BlockOrder::State::asked : BlockOrder::State::answered;
}

void BlockSource::fail(BlockOrder& order) {
  const int code = client_->recover();
  if (order.state == BlockOrder::State::asked) return;  // it is repeated
  order.state = BlockOrder::State::answered;
  order.outcome.code = code;
  order.outcome.text = "out of memory";
}

void BlockSource::ask_page() {
  Request request = make_call("page");
  protocol::Buffer params;
  protocol::append_array(params, 0);
  request.body->params.assign(params.data(), params.size());
  ask(page_order_, std::move(request));
  if (page_order_.state == BlockOrder::State::answered) page_order_.state = BlockOrder::State::none;
}

void BlockSource::ask_block_locked(BlockOrder& order, std::uint32_t slot, std::int64_t count) {
  order.kind = BlockOrder::Kind::block;
  order.slot = slot;
  order.wanted = count;
  try {
    const bool known = page_generation_ == client_->generation();
    const bool refused =
        known && (page_ == nullptr ? unattachable_ || monotonic_ms() < page_again_ms_
                                   : slot >= page_->slots());
    if (refused || !revocable_) {
      order.state = BlockOrder::State::answered;
      order.outcome = no_page_;
      return;
    }
    // The page is requested on each connection; the answers come in the order of the requests.
    if ((!known || page_ == nullptr) && page_order_.state == BlockOrder::State::none) ask_page();
    Request request = make_call("block");
    protocol::Buffer params;
    protocol::append_array(params, 3);
    protocol::append_text(params, name_);
    protocol::append_integer(params, slot);
    protocol::append_integer(params, count);
    request.body->params.assign(params.data(), params.size());
    ask(order, std::move(request));
    send();
  } catch (...) {
    fail(order);
  }
}

void BlockSource::ask_block(BlockOrder& order, std::uint32_t slot, std::int64_t count) {
  const Lock lock(mutex_);
  ask_block_locked(order, slot, count);
}

bool BlockSource::try_ask_block(BlockOrder& order, std::uint32_t slot, std::int64_t count) {
  const Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  ask_block_locked(order, slot, count);
  return true;
}

void BlockSource::ask_next(BlockOrder& order) {
  const Lock lock(mutex_);
  order.kind = BlockOrder::Kind::next;
  try {
    Request request;
    request.name = name_;
    ask(order, std::move(request));
    send();
  } catch (...) {
    fail(order);
  }
}

// --- waiting

bool BlockSource::is_answered(const BlockOrder& order) {
  const Lock lock(mutex_);
  return order.state == BlockOrder::State::answered;
}

bool BlockSource::has_arrived(BlockOrder& order) {
  const Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (!driven_ && order.state == BlockOrder::State::asked) drive_surely();
  return order.state == BlockOrder::State::answered;
}

bool BlockSource::wait(BlockOrder& order, std::int64_t until_ms) {
  Lock lock(mutex_);
  for (;;) {
    if (!driven_ && order.state == BlockOrder::State::asked) drive_surely();
    if (order.state == BlockOrder::State::answered) return true;
    if (monotonic_ms() >= until_ms) return false;
    sleep(lock, until_ms);
  }
}

// Only the thread that waits at the socket reads from it, so no other takes its reply.
void BlockSource::send() {
  if (driven_)
    client_->send_only();
  else
    drive();
}

void BlockSource::drive() {
  client_->begin_call();
  // A reply that arrived in time counts, also if it is read after the deadline.
  if (client_->idle_ms() == 0) client_->take_arrived();
  client_->poll(0, kAnswersAtOnce);
  for (std::size_t at = 0; at < client_->delivered_count(); ++at) {
    const Answer& answer = client_->delivered(at);
    settle(*static_cast<BlockOrder*>(answer.tag), answer);
  }
}

// Memory may be available again at a later step.
void BlockSource::drive_surely() {
  try {
    drive();
  } catch (...) {
    client_->recover();
  }
}

// One thread sleeps at the socket; the others until it has seen something.
void BlockSource::sleep(Lock& lock, std::int64_t until_ms) {
  const std::int64_t left_ms = std::min(until_ms - monotonic_ms(), kLongestSleepMs);
  if (left_ms <= 0) return;
  if (driven_) {
    changed_.wait_for(lock, std::chrono::milliseconds(left_ms));
    return;
  }
  pollfd watched = {};
  watched.fd = client_->descriptor();  // poll() passes over a negative one
  watched.events = static_cast<short>(client_->prepare_output() ? POLLIN | POLLOUT : POLLIN);
  const std::int64_t idle_ms = client_->idle_ms();
  const std::int64_t wait_ms = idle_ms < 0 ? left_ms : std::min(left_ms, idle_ms);
  driven_ = true;
  lock.unlock();
  (void)::poll(&watched, 1, static_cast<int>(wait_ms));
  lock.lock();
  driven_ = false;
  changed_.notify_all();
}

std::uint64_t BlockSource::generation() {
  const Lock lock(mutex_);
  return client_->generation();
}

Outcome BlockSource::late() {
  const Lock lock(mutex_);
  return client_->late();
}

// --- answers

void BlockSource::settle(BlockOrder& order, const Answer& answer) {
  order.state = BlockOrder::State::answered;
  try {
    order.outcome = answer.outcome.ok() ? read(order, answer) : answer.outcome;
  } catch (...) {
    order.outcome.code = SEQD_E_MEMORY;
  }
  if (order.kind != BlockOrder::Kind::page) return;
  order.state = BlockOrder::State::none;
  // No daemon answered, so it is unknown whether there is a page: it is requested again.
  const bool answered = order.outcome.code > SEQD_E_CONNECT;
  page_generation_ = answered ? client_->generation() : kNoGeneration;
  if (order.outcome.ok()) page_back_off_.reset();
  if (order.outcome.ok() || !answered) return;
  page_.reset();
  if (!answer.outcome.ok()) unattachable_ = false;
  no_page_ = std::move(order.outcome);
  page_again_ms_ = monotonic_ms() + page_back_off_.next_delay_ms();
}

Outcome BlockSource::read(BlockOrder& order, const Answer& answer) {
  if (order.kind == BlockOrder::Kind::page) return read_page(answer);
  if (order.kind == BlockOrder::Kind::next) {
    order.id = answer.first.first;
    return {};
  }
  protocol::ValueReader reader = reader_of(answer.result());
  const auto fields = reader.read_array();
  const auto first = fields == 3U ? reader.read_integer() : std::nullopt;
  const auto step = first ? reader.read_integer() : std::nullopt;
  const auto count = step ? reader.read_integer() : std::nullopt;
  if (!count || *count < 1 || *count > order.wanted || !is_within(*first, *step, *count)) {
    return {SEQD_E_PROTOCOL,
            "the reply to block is not a block that was requested; is the process at this socket "
            "seqd?"};
  }
  order.block = {*first, *step, static_cast<std::uint64_t>(*count)};
  if (page_generation_ == client_->generation()) order.page = page_;
  return {};
}

Outcome BlockSource::read_page(const Answer& answer) {
  protocol::ValueReader reader = reader_of(answer.result());
  const auto fields = reader.read_array();
  const bool whole = fields == 4U;
  PageInfo info;
  for (std::int64_t* field : {&info.slots, &info.slot_bytes, &info.key, &info.maker})
    *field = whole ? reader.read_integer().value_or(0) : 0;
  info.peer = client_->peer_user();
  Outcome outcome = BlockPage::attach(info, page_);
  // A page that cannot be attached now cannot be attached later: it is requested again on the next
  // connection.
  unattachable_ = !outcome.ok();
  if (outcome.ok()) no_page_ = {SEQD_E_UNAVAILABLE, "the daemon's page has too few slots"};
  return outcome;
}

Outcome BlockSource::collect(BlockOrder& order, std::shared_ptr<BlockPage>& page) {
  const Lock lock(mutex_);
  order.state = BlockOrder::State::none;
  page.reset();
  const std::shared_ptr<BlockPage> reported = std::move(order.page);
  if (!order.outcome.ok() || order.kind != BlockOrder::Kind::block) return order.outcome;
  const BlockPage* const known = reported != nullptr ? reported.get() : page_.get();
  if (known == nullptr || order.slot >= known->slots()) return no_page_;
  if (reported == nullptr) return {};  // no page was reported before it on its connection
  const std::atomic_ref<std::uint64_t> block(reported->slot(order.slot).block);
  if (block.load(std::memory_order_acquire) == order.number)
    page = reported;
  else
    page_generation_ = kNoGeneration;  // it has ended, or lies in another page
  return {};
}

}  // namespace seqd::engine

#include "tests/sim/clients/thief.h"

#include <algorithm>
#include <utility>

namespace seqd::sim {

void Thief::act() {
  if (site_.retired() || stage_.calm) {
    if (connection_) site_.hang_up(std::exchange(connection_, nullptr));
    return;
  }
  const bool started = site_.process() != process_;
  if (connection_ && stage_.random.below(4) == 0) {
    site_.hang_up(std::exchange(connection_, nullptr));
  } else if (!connection_ && stage_.random.below(started ? 2 : 100) == 0) {
    connect();
  }
  stage_.after(stage_.random.between(1, 20), [this] { act(); });
}

void Thief::connect() {
  const std::optional<protocol::Identity> identity = choose_();
  auto connection = std::make_shared<Connection>(*this, stage_.history.events());
  if (!identity || !site_.accept(connection, kUser)) return;
  process_ = site_.process();
  connection_ = std::move(connection);
  protocol::Buffer out;
  protocol::append_hello(out, kHello, {identity, {}});
  // In the turn in which the blocks of the other one end, or in a later one.
  asked_ = stage_.random.below(2) == 0;
  if (asked_) protocol::append_call(out, kPage, "page");
  connection_->arrived.append(out.data(), out.size());
  site_.receive(connection_);
}

void Thief::ask_page() {
  stage_.after(stage_.random.between(0, 4), [this, connection = connection_] {
    if (connection == nullptr || connection->session == nullptr) return;
    protocol::Buffer out;
    protocol::append_call(out, kPage, "page");
    connection->arrived.append(out.data(), out.size());
    site_.receive(connection);
  });
}

void Thief::reply_left(Connection& connection, const protocol::Message& reply) {
  const bool good = !protocol::read_reply_error(reply.error);
  if (reply.msgid == kHello && good && !asked_ && connection_.get() == &connection)
    return ask_page();
  if (reply.msgid != kPage || !good || connection.session == nullptr) return;
  if (connection.session->closing) return;  // the page may be of the next one already
  const auto page = site_.pages().pages.find(connection.session->client);
  // The one whose it is may have come back meanwhile.
  if (page == site_.pages().pages.end() || page->second == nullptr) return;
  stage_.happened(Kind::page_asked_by_another, site_.number());
  const bool in_use = std::any_of(page->second->begin(), page->second->end(), [](const auto& slot) {
    return slot.block != 0 && slot.taken < slot.limit;
  });
  if (in_use) stage_.history.violation("another user gets a page with blocks");
}

void Thief::connection_ended(Connection& connection) {
  if (connection_.get() == &connection) connection_.reset();
}

}  // namespace seqd::sim

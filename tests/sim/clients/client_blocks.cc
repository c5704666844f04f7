// Of Client: blocks.
#include "protocol/values/value_writer.h"
#include "tests/sim/clients/client.h"

namespace seqd::sim {

void Client::ask_block() {
  const std::uint32_t floor = requests_.empty() ? next_ : requests_.begin()->first;
  if (requests_.size() >= kPipeline || next_ - floor + 40 > Process::kUnacknowledged) return;
  Request request;
  request.sequence = static_cast<std::size_t>(stage_.random.below(Site::kSequences));
  request.count = stage_.random.between(1, 60);
  request.is_block = true;
  request.slot = static_cast<std::uint32_t>(stage_.random.below(BlockHolder::kSlots));
  request.timeout_ms = 0;
  request.asked_ms = stage_.time.monotonic_ms();
  // One for each slot at a time: the next one says that nothing is taken of the former any more.
  for (const auto& [number, other] : requests_) {
    if (other.is_block && other.slot == request.slot) return;
  }
  blocks_.leave(request.slot);
  const std::uint32_t number = next_++;
  send_request(number, requests_[number] = request);
}

void Client::ask_page() {
  protocol::Buffer out;
  protocol::append_call(out, kPage, "page");
  send(out);
}

// Where there is none, another connection tells one. A connection that closes has lost its identity
// to another user, and with it the page.
void Client::page_left(const Connection& connection, bool good) {
  if (good && !connection.orphaned && connection.session != nullptr && !connection.session->closing)
    blocks_.told(connection.number, connection.session->client);
}

// The page is told before what is repeated, or not, as a client may have other things to do first.
void Client::repeat() {
  const bool blocks = stage_.profile.blocks && identity_;
  const bool page_first = blocks && stage_.random.below(2) == 0;
  if (page_first) ask_page();
  for (auto& [unanswered, request] : requests_) send_request(unanswered, request);
  for (std::int64_t more = stage_.random.below(4); more > 0; --more) repeat_answered();
  if (blocks && !page_first) ask_page();
}

void Client::append_block(protocol::Buffer& out, std::uint32_t number,
                          const Request& request) const {
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, number);
  protocol::append_text(out, "block");
  protocol::append_array(out, 3);
  protocol::append_text(out, Site::kSequenceNames[request.sequence]);
  protocol::append_integer(out, request.slot);
  protocol::append_integer(out, request.count);
}

// What was granted holds when the reply arrives on the connection that was asked last.
void Client::block_left(std::uint32_t number, const Request& request, const Connection& connection,
                        const protocol::Message& reply) {
  protocol::ValueReader result = reply.result;
  const bool three = result.read_array() == 3U;
  const std::optional<std::int64_t> first = three ? result.read_integer() : std::nullopt;
  const std::optional<std::int64_t> step = result.read_integer();
  const std::optional<std::int64_t> count = result.read_integer();
  if (!first || step != 1 || !count || *count < 1 || *count > request.count)
    violation("a block that is none");
  if (connection.orphaned || connection.session == nullptr) return;
  stage_.after(
      stage_.random.between(0, 4),
      [this, serial = connection.number, number, slot = request.slot, sequence = request.sequence,
       first = *first, count = *count, page = blocks_.page_of(connection.number)] {
        if (!connection_ || connection_->number != serial || !requests_.contains(number)) return;
        requests_.erase(number);
        blocks_.granted(slot, number, Site::kSequenceNames[sequence], first, count, page);
      });
}

}  // namespace seqd::sim

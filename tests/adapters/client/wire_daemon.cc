#include "tests/adapters/client/wire_daemon.h"

#include <algorithm>

#include "protocol/replies.h"
#include "protocol/values/value_writer.h"

namespace seqd::testing {

using protocol::Buffer;
using protocol::Message;
using protocol::Run;

bool WireDaemon::receive(Connection& connection, std::string_view bytes, Buffer& out) {
  connection.input.append(bytes);
  while (!connection.input.empty()) {
    const auto scan = connection.scanner.scan(connection.input.bytes());
    if (scan.kind == protocol::ScanResult::Kind::need_more) return true;
    Message message;
    const bool well =
        scan.kind == protocol::ScanResult::Kind::complete &&
        protocol::parse_message(connection.input.bytes().first(scan.size), message).ok();
    if (!well) {
      complaint_ = "what the client sent is no message";
      return false;
    }
    if (!handle(connection, message, out)) return false;
    connection.input.consume(scan.size);
  }
  return true;
}

std::int64_t WireDaemon::issued(const std::string& name) const {
  const auto found = next_.find(name);
  return found == next_.end() ? 0 : (found->second - 1) / step;
}

bool WireDaemon::handle(Connection& connection, const Message& message, Buffer& out) {
  if (message.method == "hello") return hello(connection, message, out);
  if (message.method == "ack") {
    acknowledge(connection, message);
    return true;
  }
  if (!connection.greeted) complaint_ = "a request came before hello was answered";
  ++requests_;
  const Fault wanted = fault ? fault(requests_, message) : Fault::none;
  if (wanted == Fault::close_before) return false;
  if (wanted == Fault::ignore) return true;
  if (wanted == Fault::stopping) {
    protocol::append_error_reply(out, message.msgid, ErrorCode::STOPPING, "the daemon stops");
    return true;
  }
  if (wanted == Fault::garbage) {
    out.append(garbage);
    return true;
  }
  if (wanted == Fault::busy) {
    protocol::append_error_reply(out, message.msgid, ErrorCode::BUSY, "too much is kept");
    return true;
  }
  Buffer nowhere;
  answer_to(connection, message, wanted == Fault::close_after ? nowhere : out);
  return wanted != Fault::close_after;
}

void WireDaemon::answer_to(Connection& connection, const Message& message, Buffer& out) {
  if (message.method == "next" || message.method == "next_text" || message.method == "range")
    issue(connection, message, out);
  else if (message.method == "insert")
    insert(connection, message, out);
  else if (!other || !other(connection, message, out))
    answer(message, out);
}

bool WireDaemon::hello(Connection& connection, const Message& message, Buffer& out) {
  ++hellos_;
  const Fault wanted = hello_fault ? hello_fault(hellos_) : Fault::none;
  if (wanted == Fault::close_before || wanted == Fault::close_after) return false;
  if (wanted == Fault::ignore) return true;
  if (wanted == Fault::stopping) {
    protocol::append_error_reply(out, message.msgid, ErrorCode::STOPPING, "the daemon stops");
    return true;
  }
  if (wanted == Fault::garbage) {
    out.append(garbage);
    return true;
  }
  auto reader = message.params;
  const std::uint32_t pairs = reader.read_map().value_or(0);
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const auto key = reader.read_text().value_or("");
    const auto value = reader.read_text().value_or("");
    if (key == "client") connection.identity = value;
  }
  connection.greeted = true;
  identities_seen_.insert(connection.identity);
  const bool known = identities_.count(connection.identity) != 0;
  if (!connection.identity.empty()) identities_[connection.identity];
  protocol::begin_result(out, message.msgid);
  connection.name = "wire-" + std::to_string(hellos_);
  protocol::append_map(out, 7);
  protocol::append_text(out, "connection");
  protocol::append_text(out, connection.name);
  protocol::append_text(out, "server");
  protocol::append_text(out, "seqd");
  protocol::append_text(out, "version");
  protocol::append_text(out, "0.1.0");
  protocol::append_text(out, "protocol");
  protocol::append_integer(out, 1);
  protocol::append_text(out, "known");
  protocol::append_bool(out, known);
  protocol::append_text(out, "instance");
  protocol::append_text(out, "test");
  protocol::append_text(out, "limits");
  protocol::append_map(out, 4);
  protocol::append_text(out, "frame");
  protocol::append_integer(out, limits.frame);
  protocol::append_text(out, "depth");
  protocol::append_integer(out, limits.depth);
  protocol::append_text(out, "count");
  protocol::append_integer(out, count_limit);
  protocol::append_text(out, "unacknowledged");
  protocol::append_integer(out, unacknowledged_limit);
  return true;
}

void WireDaemon::insert(const Connection& connection, const Message& message, Buffer& out) {
  auto reader = message.params;
  if (!reader.read_text()) complaint_ = "an insert without a name";
  const auto before = reader.bytes();
  if (!reader.skip()) complaint_ = "an insert without a document";
  const auto document = before.first(before.size() - reader.remaining());
  std::string named;
  bool unique = false;
  for (std::uint32_t left = reader.read_map().value_or(0); left > 0; --left) {
    const auto key = reader.read_text().value_or("");
    unique = unique || key == "unique";
    if (key == "connection")
      named = reader.read_text().value_or("");
    else
      static_cast<void>(reader.skip());
  }
  if (named != connection.name) complaint_ = "an insert that was sent before";
  std::string bytes(document.begin(), document.end());
  // All of it stands for the unique field.
  const auto there = unique ? std::find(inserted.begin(), inserted.end(), bytes) : inserted.end();
  const std::int64_t id = there - inserted.begin() + 1;
  if (there == inserted.end()) inserted.push_back(std::move(bytes));
  protocol::append_id_reply(out, message.msgid, id);
}

void WireDaemon::acknowledge(Connection& connection, const Message& message) {
  auto reader = message.params;
  const std::int64_t below = reader.read_integer().value_or(0);
  if (connection.identity.empty() || below < 1) {
    complaint_ = "an ack without an identity, or of nothing";
    return;
  }
  Identity& identity = identities_[connection.identity];
  if (below < identity.floor) complaint_ = "an ack that goes back";
  identity.floor = std::max(identity.floor, static_cast<std::uint32_t>(below));
  identity.answered.erase(identity.answered.begin(), identity.answered.lower_bound(identity.floor));
  acknowledgements_.push_back(static_cast<std::uint32_t>(below));
}

std::vector<Run> WireDaemon::take(const std::string& name, std::int64_t count) {
  std::int64_t& next = next_.try_emplace(name, 1).first->second;
  std::vector<Run> runs;
  while (count > 0) {
    const std::int64_t length = run_length > 0 ? std::min(run_length, count) : count;
    runs.push_back({next, length, step});
    next += length * step;
    count -= length;
  }
  return runs;
}

void WireDaemon::issue(Connection& connection, const Message& message, Buffer& out) {
  auto reader = message.params;
  const std::string name(reader.read_text().value_or(""));
  const bool range = message.method == "range";
  const std::int64_t count = range ? reader.read_integer().value_or(0) : 1;
  if (name == "missing") {
    protocol::append_error_reply(out, message.msgid, ErrorCode::NO_SEQUENCE,
                                 "no sequence \"missing\" is configured");
    return;
  }
  if (count > count_limit) {
    protocol::append_error_reply(out, message.msgid, ErrorCode::TOO_LARGE, "count");
    return;
  }
  std::vector<Run> runs;
  if (connection.identity.empty()) {
    runs = take(name, count);
  } else {
    Identity& identity = identities_[connection.identity];
    if (message.msgid < identity.floor) complaint_ = "a request number below the floor";
    if (message.msgid - identity.floor >= unacknowledged_limit)
      complaint_ = "a request number beyond the window";
    const auto found = identity.answered.find(message.msgid);
    if (found == identity.answered.end())
      identity.answered[message.msgid] = take(name, count);
    else
      ++repeats_;
    runs = identity.answered[message.msgid];
  }
  if (range)
    protocol::append_runs_reply(out, message.msgid, runs);
  else if (message.method == "next_text")
    protocol::append_text_reply(out, message.msgid, "T-" + std::to_string(runs.front().first));
  else
    protocol::append_id_reply(out, message.msgid, runs.front().first);
}

void WireDaemon::answer(const Message& message, Buffer& out) {
  if (message.method == "ping" || message.method == "echo") {
    protocol::begin_result(out, message.msgid);
    protocol::append_text(out, "pong");
  } else if (message.method == "peek") {
    auto reader = message.params;
    const std::string name(reader.read_text().value_or(""));
    protocol::begin_result(out, message.msgid);
    protocol::append_map(out, 3);
    protocol::append_text(out, "next");
    protocol::append_integer(out, next_.count(name) != 0 ? next_[name] : 1);
    protocol::append_text(out, "available");
    protocol::append_integer(out, 7);
    protocol::append_text(out, "last");
    protocol::append_nil(out);
  } else if (const auto found = results.find(message.method); found != results.end()) {
    protocol::begin_result(out, message.msgid);
    out.append(found->second);
  } else {
    protocol::append_error_reply(out, message.msgid, ErrorCode::NO_METHOD, "no such method");
  }
}

}  // namespace seqd::testing

#include "tests/unit/rpc_world.h"

#include <utility>

#include "protocol/messages.h"
#include "protocol/requests.h"

namespace seqd {
namespace {

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

protocol::Message parse(const std::string& frame) {
  protocol::Message message;
  ASSERT(protocol::parse_message(as_bytes(frame), message).ok());
  return message;
}

std::string text_of(const protocol::Buffer& buffer) {
  return std::string(buffer.data(), buffer.size());
}

}  // namespace

protocol::ValueReader Reply::result() const {
  ASSERT(code == ErrorCode::OK);
  return parse(frame).result;
}

std::int64_t Reply::id() const {
  return result().read_integer().value_or(-1);
}

std::vector<Run> Reply::runs() const {
  protocol::ValueReader reader = result();
  std::vector<Run> out(reader.read_array().value_or(0));
  for (Run& run : out) {
    const std::optional<protocol::Run> one = protocol::read_run(reader);
    ASSERT(one.has_value());
    run = {one->first, one->count, one->step};
  }
  return out;
}

std::vector<Reply> Line::replies() {
  std::vector<Reply> out;
  protocol::FrameScanner scanner(protocol::kReplyLimits);
  while (!received.empty()) {
    const protocol::ScanResult scan = scanner.scan(as_bytes(received));
    ASSERT(scan.kind != protocol::ScanResult::Kind::bad);
    if (scan.kind != protocol::ScanResult::Kind::complete) break;
    Reply reply;
    reply.frame = received.substr(0, scan.size);
    received.erase(0, scan.size);
    const protocol::Message message = parse(reply.frame);
    ASSERT(message.kind == protocol::Message::Kind::reply);
    reply.msgid = message.msgid;
    if (const auto error = protocol::read_reply_error(message.error)) {
      reply.code = error->code;
      reply.text = error->text;
    }
    out.push_back(std::move(reply));
  }
  return out;
}

void RpcWorld::start() {
  if (core.settings.find("orders") == nullptr) core.settings.add("orders");
  sessions = std::make_unique<Sessions>(limits.output_total);
  replies = std::make_unique<ReplyWriter>(*sessions);
  recorder = std::make_unique<HistoryRecorder>(core.time, HistoryRecorder::Limits{256, 256});
  core.replies = replies.get();
  core.history = recorder.get();
  core.start();
  replies->attach(*core.table);
  const InsertQueues::Stores stores{{"default", &inserts}};
  const CoreContext context{core.time,   core.time, run_random_, core.log,
                            core.events, *replies,  nullptr};
  queues = std::make_unique<InsertQueues>(context, core.settings, stores, 100);
  purge = std::make_unique<Purge>(context, *core.table, core.settings,
                                  Purge::Stores{{"default", &purges}},
                                  [] { return std::vector<NamedSequence>(); });
  registers = std::make_unique<Registers>(context, core.settings, *core.table,
                                          Registers::Stores{{"default", &numbers}}, "host");
  Services services{control,  core.time,    core.log,        *core.table, recorder.get(),
                    &history, queues.get(), registers.get(), purge.get(), &core.events};
  if (!keeps_history) services.recorder = nullptr, services.history = nullptr;
  server = std::make_unique<Server>(services, *sessions, limits);
}

bool ScriptedHistory::deliver() {
  const bool any = !waiting.empty();
  for (const std::function<void()>& answer : std::exchange(waiting, {})) answer();
  return any;
}

void RpcWorld::kill() {
  history.waiting.clear();
  queues.reset();
  inserts.drop_pending();
  registers.reset();
  numbers.drop_pending();
  purge.reset();
  purges.drop_pending();
  for (const auto& line : lines) line->session = nullptr;
  core.kill();
  server.reset();
}

Line& RpcWorld::connect(UserId uid, std::vector<GroupId> groups, std::int32_t pid) {
  Line& line = *lines.emplace_back(std::make_unique<Line>());
  line.session = &server->open({uid, pid, std::move(groups)}, line);
  return line;
}

void RpcWorld::hang_up(Line& line) {
  if (line.session != nullptr) server->close(*std::exchange(line.session, nullptr));
}

void RpcWorld::take_in(Line& line) {
  if (line.session == nullptr) return;
  const std::size_t taken = server->receive(*line.session, as_bytes(line.unread));
  ASSERT(taken <= line.unread.size());
  line.unread.erase(0, taken);
}

void RpcWorld::send(Line& line, std::string_view bytes) {
  line.unread += bytes;
  take_in(line);
}

void RpcWorld::turn() {
  for (const auto& line : lines) {
    if (line->session != nullptr && line->session->paused) take_in(*line);
  }
  core.turn();
  recorder->turn_over();
  server->turn_over();
  for (const auto& line : lines) {
    if (line->session == nullptr) continue;
    protocol::Buffer& out = line->session->out;
    ASSERT(out.empty() || line->attended > 0);
    line->attended = 0;
    if (!line->takes_replies) {
      line->attended = 1;
      server->sent(*line->session);
      continue;
    }
    line->received.append(out.data(), out.size());
    out.clear();
    server->sent(*line->session);
    if (line->session->closing) hang_up(*line);
  }
}

void RpcWorld::settle() {
  for (int quiet = 0; quiet < 3;) {
    turn();
    ++quiet;
    if (core.log.flush_due()) {
      core.flush();
      quiet = 0;
    }
    if (core.store.deliver() || history.deliver() || inserts.deliver() || purges.deliver() ||
        numbers.deliver())
      quiet = 0;
    if (registers->waiting() > 0 && core.time.next_delay_ms() == 0) {
      core.time.advance(0);
      quiet = 0;
    }
  }
}

std::vector<Reply> RpcWorld::call(Line& line, std::string_view bytes) {
  send(line, bytes);
  settle();
  return line.replies();
}

Reply RpcWorld::ask(Line& line, std::string_view bytes) {
  std::vector<Reply> heard = call(line, bytes);
  ASSERT(heard.size() == 1);
  return heard.front();
}

std::string next_request(std::uint32_t msgid, std::string_view name,
                         std::optional<std::int64_t> timeout_ms) {
  protocol::Buffer out;
  protocol::append_next(out, msgid, name, timeout_ms);
  return text_of(out);
}

std::string range_request(std::uint32_t msgid, std::string_view name, std::int64_t count,
                          std::optional<std::int64_t> timeout_ms) {
  protocol::Buffer out;
  protocol::append_range(out, msgid, name, count, timeout_ms);
  return text_of(out);
}

std::string peek_request(std::uint32_t msgid, std::string_view name) {
  protocol::Buffer out;
  protocol::append_peek(out, msgid, name);
  return text_of(out);
}

std::string plain_request(std::uint32_t msgid, std::string_view method) {
  protocol::Buffer out;
  protocol::append_call(out, msgid, method);
  return text_of(out);
}

std::string hello_request(std::uint32_t msgid, std::uint8_t identity) {
  protocol::Buffer out;
  protocol::append_hello(out, msgid, {protocol::Identity{identity}, {}});
  return text_of(out);
}

std::string ack_notification(std::uint32_t below) {
  protocol::Buffer out;
  protocol::append_ack(out, below);
  return text_of(out);
}

}  // namespace seqd

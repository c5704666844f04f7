// link: protocol protocol/* client-lib client-lib/session client-lib/blocks
// seeds: tests/fuzz/protocol_seeds.py
//
// What a hostile daemon may send to the client library: the bytes arrive in pieces, with requests
// in flight, over several connections. Nothing may crash, every request has at most one answer, no
// answer holds more IDs than were requested, and every ID of a run is an int64.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client-lib/session/session.h"
#include "protocol/replies.h"
#include "protocol/values/value_writer.h"

namespace {

using seqd::engine::Answer;
using seqd::engine::Request;
using seqd::engine::Session;

constexpr std::int64_t kCount = 3;     // IDs of a range
constexpr std::size_t kSubmitted = 7;  // by submit()

void demand(bool condition) {
  if (!condition) std::abort();
}

void submit(Session& session) {
  const auto submit = [&session](Request::Method method) {
    Request request;
    request.method = method;
    request.name = "orders";
    request.deadline_ms = 10;
    request.connect_deadline_ms = 10;
    if (method == Request::Method::range) request.count = kCount;
    if (method == Request::Method::call) {
      request.body = std::make_unique<Request::Body>();
      request.body->params = std::string("\x90", 1);
    }
    (void)session.submit(std::move(request));
  };
  using Method = Request::Method;
  for (const Method method : {Method::next, Method::range, Method::peek, Method::call})
    submit(method);
  for (const std::string_view name : {"orders", "orders", "tickets"})
    (void)session.submit_next(name, {nullptr, 10, 10, false});
}

void check_answers(Session& session, std::size_t& answers) {
  Answer answer;
  while (session.answers().take(answer)) {
    ++answers;
    std::int64_t left = kCount;
    for (const seqd_run& run : answer.runs()) {
      std::int64_t way = 0;
      std::int64_t last = 0;
      demand(run.count >= 1 && run.count <= left && run.step != 0);
      demand(!__builtin_mul_overflow(run.count - 1, run.step, &way));
      demand(!__builtin_add_overflow(run.first, way, &last));
      left -= run.count;
    }
  }
}

// So that most of the time is spent behind the hello.
std::string good_hello() {
  seqd::protocol::Buffer bytes;
  seqd::protocol::begin_result(bytes, Session::kHelloNumber);
  seqd::protocol::append_map(bytes, 1);
  seqd::protocol::append_text(bytes, "protocol");
  seqd::protocol::append_integer(bytes, 1);
  return std::string(bytes.text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t choices = data[0];
  const std::size_t piece = std::size_t{data[1]} + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);

  seqd::engine::SessionSettings settings;
  if ((choices & 1) != 0) settings.hello.client = seqd::protocol::Identity{1};
  Session session(settings);
  submit(session);
  std::size_t submitted = kSubmitted;
  std::size_t answers = 0;
  const auto connect = [&] {
    session.connected();
    if ((choices & 2) != 0) (void)session.receive(good_hello());
    session.fill_output(0);
  };
  connect();
  while (!bytes.empty()) {
    const std::string_view now = bytes.substr(0, piece);
    bytes.remove_prefix(now.size());
    if (session.receive(now) != Session::Verdict::keep) {
      demand(!session.trouble().ok());
      session.disconnected(0);
      connect();
    }
    check_answers(session, answers);
    if ((choices & 4) != 0 && session.in_flight() == 0 && submitted < 400) {
      submit(session);
      submitted += kSubmitted;
    }
    session.fill_output(0);
  }
  if ((choices & 8) != 0) session.expire(10, {SEQD_E_CONNECT, "absent"});
  session.fail_all({SEQD_E_CONNECT, "the end"});
  check_answers(session, answers);
  demand(answers == submitted);
  return 0;
}

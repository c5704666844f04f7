// SessionLine: a client's session and a daemon with nothing but bytes between them. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client-lib/session/session.h"
#include "tests/adapters/client/wire_daemon.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

using engine::Answer;
using engine::Request;
using engine::Session;
using engine::SessionSettings;

inline SessionSettings with_identity() {
  SessionSettings settings;
  settings.hello.client = protocol::Identity{1, 2, 3};
  settings.hello.name = "test";
  return settings;
}

inline Request request_for(const std::string& name, std::int64_t count = 0) {
  Request request;
  request.name = name;
  request.deadline_ms = 1'000;
  request.connect_deadline_ms = 1'000;
  if (count > 0) {
    request.method = Request::Method::range;
    request.count = count;
  }
  return request;
}

inline Request call_of(const std::string& method) {
  Request request = request_for(method);
  request.method = Request::Method::call;
  request.body = std::make_unique<Request::Body>();
  request.body->params = std::string("\x90", 1);
  return request;
}

inline bool is_one_to(std::int64_t last, const std::vector<std::int64_t>& ids) {
  const std::set<std::int64_t> unique(ids.begin(), ids.end());
  return unique.size() == ids.size() && static_cast<std::int64_t>(ids.size()) == last &&
         *unique.begin() == 1 && *unique.rbegin() == last;
}

struct SessionLine {
  WireDaemon daemon;
  Session session;
  WireDaemon::Connection connection;
  std::int64_t now_ms = 0;

  explicit SessionLine(SessionSettings settings = with_identity()) : session(settings) {}

  void connect() {
    connection = WireDaemon::Connection();
    session.connected();
  }
  // Carries bytes to and fro until nothing moves. What the session made of it.
  Session::Verdict exchange() {
    for (;;) {
      session.fill_output(now_ms);
      if (session.output().empty()) return Session::Verdict::keep;
      protocol::Buffer answers;
      const bool open = daemon.receive(connection, session.output().text(), answers);
      session.output().clear();
      const Session::Verdict verdict = session.receive(answers.text());
      if (verdict != Session::Verdict::keep || !open)
        return open ? verdict : Session::Verdict::reconnect;
    }
  }
  // Connects, as often as it takes, until nothing is unanswered.
  void finish() {
    for (int attempts = 0; attempts < 100 && session.in_flight() > 0; ++attempts) {
      connect();
      if (exchange() != Session::Verdict::keep) session.disconnected(0);
    }
    CHECK(session.in_flight() == 0);
  }
  std::vector<std::int64_t> ids() {
    std::vector<std::int64_t> found;
    Answer answer;
    while (session.answers().take(answer)) {
      CHECK(answer.outcome.text == "");
      for (const seqd_run& run : answer.runs())
        for (std::int64_t i = 0; i < run.count; ++i) found.push_back(run.first + i * run.step);
    }
    return found;
  }
};

}  // namespace seqd::testing

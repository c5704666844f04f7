#include "tests/adapters/dynamo/http_proxy.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace seqd::testing {
namespace {

// The value of a header; the name in lower case.
std::string header(const std::string& head, const std::string& name) {
  std::string lower = head;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::size_t at = lower.find("\r\n" + name + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = head.find_first_not_of(' ', at + name.size() + 3);
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// A whole message, head and body; none where the connection ends before.
std::optional<std::string> read_message(int socket) {
  std::string message;
  while (true) {
    const std::size_t end = message.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string length = header(message.substr(0, end + 2), "content-length");
      const std::size_t body = length.empty() ? 0 : std::stoul(length);
      if (message.size() >= end + 4 + body) return message;
    }
    char part[4096];
    const ssize_t got = recv(socket, part, sizeof part, 0);
    if (got <= 0) return std::nullopt;
    message.append(part, static_cast<std::size_t>(got));
  }
}

std::string reply_of(int status, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} Said\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: "
      "{}\r\n\r\n{}",
      status, body.size(), body);
}

}  // namespace

std::string dynamo_error(const std::string& type, const std::string& message) {
  return fmt::format(R"({{"__type":"com.amazonaws.dynamodb.v20120810#{}","message":"{}"}})", type,
                     message);
}

HttpProxy::HttpProxy(const std::string& upstream)
    : upstream_port_(std::stoi(upstream.substr(upstream.rfind(':') + 1))),
      server_([this](int client) { serve(client); }) {}

std::string HttpProxy::endpoint() const {
  return "http://127.0.0.1:" + std::to_string(server_.port());
}

void HttpProxy::plan(const std::string& operation, std::vector<HttpFault> faults) {
  const std::lock_guard lock(mutex_);
  for (HttpFault& fault : faults) planned_.push_back({operation, std::move(fault)});
}

int HttpProxy::seen(const std::string& operation) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count(seen_.begin(), seen_.end(), operation));
}

void HttpProxy::wait_until_seen(const std::string& operation, int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return std::count(seen_.begin(), seen_.end(), operation) >= count; });
}

void HttpProxy::release() {
  std::list<std::string> held;
  {
    const std::lock_guard lock(mutex_);
    held.swap(held_);
  }
  for (const std::string& request : held) pass_on(request);
}

void HttpProxy::serve(int client) {
  while (true) {
    const std::optional<std::string> request = read_message(client);
    if (!request || !answer(client, *request)) return;
  }
}

bool HttpProxy::answer(int client, const std::string& request) {
  using Kind = HttpFault::Kind;
  const std::string target = header(request, "x-amz-target");
  const HttpFault fault = fault_of(target.substr(target.find('.') + 1));
  switch (fault.kind) {
    case Kind::lose_request:
      return false;
    case Kind::say:
      return write_all(client, reply_of(fault.status, fault.body));
    case Kind::hold_request:
      hold(client, request);
      return false;
    case Kind::twice:
      pass_on(request);
      break;
    default:
      break;
  }
  const std::string reply = pass_on(request);
  switch (fault.kind) {
    case Kind::lose_reply:
      return false;
    case Kind::reply_late:
      return read_message(client).has_value();  // until the other side has gone
    case Kind::cut_reply:
      write_all(client, reply.substr(0, reply.size() - 2));
      return false;
    case Kind::say_applied:
      return write_all(client, reply_of(fault.status, fault.body));
    default:
      return write_all(client, reply);
  }
}

// Until the other side has gone; the request stays.
void HttpProxy::hold(int client, const std::string& request) {
  {
    const std::lock_guard lock(mutex_);
    held_.push_back(request);
  }
  read_message(client);
}

HttpFault HttpProxy::fault_of(const std::string& operation) {
  const std::lock_guard lock(mutex_);
  seen_.push_back(operation);
  changed_.notify_all();
  const auto found = std::find_if(planned_.begin(), planned_.end(), [&](const Planned& planned) {
    return planned.operation == operation;
  });
  if (found == planned_.end()) return {};
  HttpFault fault = std::move(found->fault);
  planned_.erase(found);
  return fault;
}

std::string HttpProxy::pass_on(const std::string& request) {
  const int service = server_.connect_to(upstream_port_);
  std::optional<std::string> reply;
  if (service >= 0 && write_all(service, request)) reply = read_message(service);
  server_.disconnect(service);
  return reply.value_or("HTTP/1.1 502 No Service\r\nContent-Length: 0\r\n\r\n");
}

}  // namespace seqd::testing

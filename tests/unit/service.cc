#include "tests/unit/service.h"

#include "protocol/values/value_writer.h"

namespace seqd {
namespace {

void flatten(protocol::ValueReader& reader, const std::string& prefix,
             std::map<std::string, std::string>& out) {
  for (std::uint32_t left = reader.read_map().value_or(0); left > 0; --left) {
    const std::string key = prefix + std::string(reader.read_text().value_or("no text"));
    protocol::ValueReader inside = reader;
    if (const auto number = reader.read_integer()) {
      out[key] = std::to_string(*number);
    } else if (const auto text = reader.read_text()) {
      out[key] = *text;
    } else if (const auto flag = reader.read_bool()) {
      out[key] = *flag ? "true" : "false";
    } else if (reader.read_nil()) {
      out[key] = "nil";
    } else if (inside.read_map()) {
      flatten(reader, key + ".", out);
    } else {
      out[key] = "array of " + std::to_string(inside.read_array().value_or(0));
      static_cast<void>(reader.skip());
    }
  }
}

}  // namespace

Service::Service(const ServerLimits& limits) {
  world.limits = limits;
  world.start();
  world.settle();
  line = &world.connect();
}

std::string request(std::string_view method, std::uint32_t count, std::string_view params) {
  protocol::Buffer out;
  protocol::append_array(out, 4);
  protocol::append_integer(out, 0);
  protocol::append_integer(out, 1);
  protocol::append_text(out, method);
  protocol::append_array(out, count);
  out.append(params);
  return std::string(out.data(), out.size());
}

std::string request(std::string_view method, std::string_view name, std::uint32_t count,
                    std::string_view params) {
  protocol::Buffer all;
  protocol::append_text(all, name);
  all.append(params);
  return request(method, count, std::string_view(all.data(), all.size()));
}

std::map<std::string, std::string> read_map(protocol::ValueReader& reader) {
  std::map<std::string, std::string> out;
  flatten(reader, "", out);
  return out;
}

std::map<std::string, std::string> map_of(const Reply& reply) {
  protocol::ValueReader reader = reply.result();
  std::map<std::string, std::string> out = read_map(reader);
  ASSERT(reader.at_end());
  return out;
}

}  // namespace seqd

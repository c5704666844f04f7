#include "client-lib/seqctl/insert_document.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace seqd::seqctl {
namespace {

using Json = nlohmann::ordered_json;

// More than any daemon takes.
constexpr std::size_t kMostBytes = 16 * 1024 * 1024;
constexpr std::size_t kMostLevels = 100;

// Builds the value as the parser comes along. The library's own builder would round large integers
// and keep one of two fields of a name.
// NOLINTNEXTLINE(bugprone-exception-escape): what may throw is the library's constructor of null.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX))
      return refuse("the integer " + std::to_string(value) + " is above 2^63-1");
    return put(value);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos)
      return refuse("the integer " + text.substr(0, 40) + " does not fit 64 bits");
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return refuse("JSON has no binary data"); }
  bool start_object(std::size_t /*elements*/) override { return open(Json::object()); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name))
      return refuse("the field \"" + name.substr(0, 40) + "\" comes twice");
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::json::exception& /*problem*/) override {
    return refuse("it is not JSON: byte " + std::to_string(position) + " is unexpected");
  }

  const Json& value() const { return root_; }
  const std::string& error() const { return error_; }

 private:
  bool refuse(std::string why) {
    error_ = std::move(why);
    return false;
  }
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& container = *open_.back();
    if (container.is_object()) return container[key_] = std::move(value);
    container.push_back(std::move(value));
    return container.back();
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (open_.size() == kMostLevels)
      return refuse("it is nested deeper than " + std::to_string(kMostLevels) + " levels");
    // A container grows only while it is the innermost, so those around it stay where they are.
    open_.push_back(&place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string error_;
};

// All of standard input.
bool read_input(std::string& out, std::string& error) {
  std::array<char, 65'536> part = {};
  while (out.size() <= kMostBytes) {
    const ssize_t size = ::read(STDIN_FILENO, part.data(), part.size());
    if (size == 0) return true;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      error = "standard input cannot be read";
      return false;
    }
    out.append(part.data(), static_cast<std::size_t>(size));
  }
  error = "the document is above 16 MiB";
  return false;
}

}  // namespace

std::optional<std::string> message_pack_of_json(std::string_view json, std::string& error) {
  Builder builder;
  if (!Json::sax_parse(json.begin(), json.end(), &builder)) {
    error = "the document cannot be sent: " + builder.error();
    return std::nullopt;
  }
  if (!builder.value().is_object()) {
    error = "the document is not a JSON object";
    return std::nullopt;
  }
  const std::vector<std::uint8_t> packed = Json::to_msgpack(builder.value());
  return std::string(packed.begin(), packed.end());
}

std::optional<std::string> insert_document(const std::string& given, bool message_pack,
                                           std::string& error) {
  std::string text = given;
  if (text.empty() && !read_input(text, error)) return std::nullopt;
  if (message_pack) return text;
  return message_pack_of_json(text, error);
}

}  // namespace seqd::seqctl

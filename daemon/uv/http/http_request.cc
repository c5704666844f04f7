#include "daemon/uv/http/http_request.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::string_view as_view(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

class HttpRequestParser::Parser final : public http::basic_parser<true> {
 public:
  Parser() {
    header_limit(static_cast<std::uint32_t>(kMostBytes));
    skip(true);
  }
  const HttpRequestHead& head() const { return head_; }

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code&) override {
    head_.method = as_view(method);
    head_.target = as_view(target);
    head_.chunks = version >= 11;
  }
  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
  void on_field_impl(http::field name, beast::string_view, beast::string_view value,
                     beast::error_code&) override {
    if (name != http::field::accept) return;
    if (!head_.accept.empty()) head_.accept.push_back(',');
    head_.accept.append(as_view(value));
  }
  void on_header_impl(beast::error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, beast::error_code&) override {
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                                 beast::error_code&) override {
    return body.size();
  }
  void on_finish_impl(beast::error_code&) override {}

  HttpRequestHead head_;
};

HttpRequestParser::HttpRequestParser() : parser_(std::make_unique<Parser>()) {}
HttpRequestParser::~HttpRequestParser() = default;

const HttpRequestHead& HttpRequestParser::head() const {
  ASSERT(parser_->is_header_done());
  return parser_->head();
}

HttpRequestParser::Found HttpRequestParser::take(std::string_view bytes) {
  ASSERT(!parser_->is_header_done());
  // The parser bounds what it is given at once, which is what it has not taken yet.
  const std::size_t fitting = bytes.substr(0, kMostBytes - taken_).size();
  rest_.append(bytes.substr(0, fitting));
  taken_ += fitting;
  while (!rest_.empty()) {
    beast::error_code failed;
    const std::size_t used = parser_->put(boost::asio::buffer(rest_), failed);
    rest_.erase(0, used);
    if (parser_->is_header_done()) return Found::whole;
    if (failed == http::error::header_limit) return Found::too_large;
    if (failed && failed != http::error::need_more) return Found::bad;
    if (used == 0) break;
  }
  return taken_ < kMostBytes ? Found::part : Found::too_large;
}

}  // namespace seqd

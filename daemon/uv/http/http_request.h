// HttpRequestParser: the head of one HTTP/1 request, from bytes as they arrive; Boost.Beast reads
// it. A body is ignored. Loop thread; owned by its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace seqd {

struct HttpRequestHead {
  std::string method;   // as it was sent: "GET"
  std::string target;   // "/metrics?x=1"
  std::string accept;   // all headers of that name, with commas between them
  bool chunks = false;  // the client knows HTTP/1.1, and so a body in chunks
};

class HttpRequestParser {
 public:
  static constexpr std::size_t kMostBytes = 8'192;  // of a head

  enum class Found : std::uint8_t {
    part,       // more has to come
    whole,      // head() has it
    bad,        // this is no HTTP/1 request
    too_large,  // the head is longer than kMostBytes
  };

  HttpRequestParser();
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // Not after it found anything but a part. What lies behind the head is dropped.
  Found take(std::string_view bytes);
  // Where take() found the whole.
  const HttpRequestHead& head() const;

 private:
  class Parser;
  const std::unique_ptr<Parser> parser_;
  std::string rest_;  // not parsed yet
  std::size_t taken_ = 0;
};

}  // namespace seqd

// Any bytes as a request for the metrics, whole and in pieces of a size that the first byte says:
// no crash, no hang; both ways find the same request; what is found is bounded; the header Accept
// is understood, and as a label it is one label on one line.
//
// link: protocol protocol/* daemon/base daemon/base/*
// link: daemon/uv/http/http_request.cc daemon/rpc/metrics/metrics_text.cc
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/assertion.h"
#include "daemon/rpc/metrics/metrics_text.h"
#include "daemon/uv/http/http_request.h"
#include "protocol/text/utf8.h"

namespace {

using Found = seqd::HttpRequestParser::Found;

Found take(seqd::HttpRequestParser& parser, std::string_view bytes, std::size_t step) {
  Found found = Found::part;
  for (std::size_t at = 0; at < bytes.size() && found == Found::part; at += step)
    found = parser.take(bytes.substr(at, step));
  return found;
}

void write_label(std::string_view value) {
  constexpr seqd::MetricFamily kFamily{seqd::MetricFamily::Kind::gauge, "a", "help"};
  std::string out;
  seqd::MetricsText(out, seqd::MetricsFormat::prometheus)
      .sample(kFamily, {{"l", value}}, std::int64_t{1});
  ASSERT(out.starts_with("a{l=\"") && out.ends_with("\"} 1\n"));
  ASSERT(std::count(out.begin(), out.end(), '\n') == 1 && seqd::protocol::is_utf8(out));
  // Every quote inside is escaped.
  bool escaped = false;
  for (const char c : std::string_view(out).substr(5, out.size() - 5 - 5)) {
    ASSERT(escaped || c != '"');
    escaped = !escaped && c == '\\';
  }
  ASSERT(!escaped);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  seqd::HttpRequestParser whole;
  seqd::HttpRequestParser parts;
  const Found found = take(whole, bytes, std::max<std::size_t>(bytes.size(), 1));
  const Found in_parts = take(parts, bytes, std::size_t{data[0]} + 1);
  // Of what is no request the parser may say sooner or later, or as too large, that it is not.
  ASSERT((in_parts == Found::whole) == (found == Found::whole));
  static_cast<void>(seqd::metrics_format_for(bytes));
  write_label(bytes);
  if (found != Found::whole) return 0;
  const seqd::HttpRequestHead& head = whole.head();
  ASSERT(head.method == parts.head().method && head.target == parts.head().target);
  ASSERT(head.accept == parts.head().accept && head.chunks == parts.head().chunks);
  ASSERT(head.method.size() + head.target.size() + head.accept.size() <=
         2 * seqd::HttpRequestParser::kMostBytes);
  return 0;
}

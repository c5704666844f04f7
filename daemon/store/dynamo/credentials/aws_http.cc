#include "daemon/store/dynamo/credentials/aws_http.h"

#include <fmt/format.h>

#include "daemon/store/dynamo/credentials/aws_documents.h"

namespace seqd {

HttpRequest aws_get(std::string url, std::vector<std::string> headers) {
  HttpRequest request;
  request.method = "GET";
  request.url = std::move(url);
  request.headers = std::move(headers);
  request.timeout_ms = kAwsPatienceMs;
  return request;
}

std::string fault_of_aws_reply(const HttpReply& reply) {
  if (reply.status == 0) return aws_printable(reply.error, 200);
  if (reply.body.size() > kMostAwsDocument)
    return fmt::format("the answer is longer than {} bytes", kMostAwsDocument);
  if (reply.status == 200) return "";
  const std::string said = aws_error_of(reply.body);
  return fmt::format("it answers with status {}{}{}", reply.status, said.empty() ? "" : ", ", said);
}

}  // namespace seqd

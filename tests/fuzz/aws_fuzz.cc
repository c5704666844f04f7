// Any bytes as what credentials of Amazon are read from: shared files, documents in JSON and
// addresses, and as the answers of every server that is asked. No crash, no
// hang; every source answers once; what is found may stand in a header; and no error is without
// words or without an end. The first byte chooses the environment.
//
// link: protocol protocol/* daemon/base daemon/base/* daemon/store/dynamo/wire/aws_signature.cc
// link: daemon/store/dynamo/credentials
// libs: -lfmt -lcrypto
// seeds: tests/fuzz/aws_seeds.py
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/store/dynamo/credentials/aws_address.h"
#include "daemon/store/dynamo/credentials/aws_chain.h"
#include "daemon/store/dynamo/credentials/aws_credentials.h"
#include "daemon/store/dynamo/credentials/aws_documents.h"

namespace {

constexpr int kMostSteps = 20;  // of one search, more than any needs

// Network and files in one: answers wait here until they are run.
class World final : public seqd::HttpClient, public seqd::FileReader {
 public:
  explicit World(std::string_view text) : text_(text) {}

  void send(seqd::HttpRequest request, std::function<void(seqd::HttpReply)> done) override {
    ASSERT(request.timeout_ms > 0 && seqd::check_aws_address(request.url).ok());
    for (const std::string& header : request.headers)
      ASSERT(header.find_first_of("\r\n") == std::string::npos);
    // "200 BODY", one answer a line.
    seqd::HttpReply reply;
    const std::string_view line = next_line();
    for (const char c : line.substr(0, 3)) reply.status = reply.status * 10 + (c - 48);
    reply.body = line.substr(std::min<std::size_t>(4, line.size()));
    reply.error = line;
    waiting_.push_back([done = std::move(done), reply] { done(reply); });
  }
  void read(const std::string& /*path*/,
            std::function<void(seqd::Result<std::string>)> done) override {
    const std::string content(text_.substr(0, 65'536));
    waiting_.push_back([done = std::move(done), content] { done(content); });
  }

  void settle() {
    int steps = 0;
    while (!waiting_.empty()) {
      ASSERT(++steps < kMostSteps);
      const std::function<void()> call = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      call();
    }
  }

 private:
  std::string_view next_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return line;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::function<void()>> waiting_;
};

std::string variable(std::uint8_t choice, const std::string& text, const std::string& name) {
  const std::string line = text.substr(0, std::min(text.find('\n'), text.size()));
  const std::map<std::string, std::pair<int, std::string>> known = {
      {"AWS_ACCESS_KEY_ID", {1, line}},
      {"AWS_SECRET_ACCESS_KEY", {1, line}},
      {"AWS_WEB_IDENTITY_TOKEN_FILE", {2, "/token"}},
      {"AWS_ROLE_ARN", {2, "arn:aws:iam::123456789012:role/ids"}},
      {"AWS_ROLE_SESSION_NAME", {4, line}},
      {"AWS_ENDPOINT_URL_STS", {8, line}},
      {"HOME", {16, "/h"}},
      {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", {32, line}},
      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", {32, "/token"}},
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", {64, line}},
      {"AWS_EC2_METADATA_SERVICE_ENDPOINT", {128, line}},
  };
  const auto found = known.find(name);
  return found != known.end() && (choice & found->second.first) != 0 ? found->second.second : "";
}

void search(std::uint8_t choice, const std::string& text, const std::string& profile) {
  World world(text);
  const seqd::AwsParts parts{world, world,
                             [&](const char* name) { return variable(choice, text, name); }};
  const auto chain = seqd::default_aws_chain(parts, profile, "eu-central-1");
  int answers = 0;
  chain->ask([&](const seqd::AwsAnswer& answer) {
    ++answers;
    if (answer.kind == seqd::AwsAnswer::Kind::found) {
      ASSERT(seqd::check_aws_credentials(answer.grant.credentials).ok());
      ASSERT(!answer.grant.origin.empty());
      ASSERT(!answer.grant.expires_ms || *answer.grant.expires_ms >= 0);
    } else {
      ASSERT(!answer.why.empty() && answer.why.size() < 10'000);
    }
  });
  world.settle();
  ASSERT(answers == 1);
}

void check_grant(const seqd::Result<seqd::AwsGrant>& grant) {
  ASSERT(grant.ok() ? seqd::check_aws_credentials(grant->credentials).ok()
                    : !grant.status().text().empty() && grant.status().text().size() < 1'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto credentials = seqd::parse_aws_credentials(text, "default");
  ASSERT(!credentials.ok() || seqd::check_aws_credentials(*credentials).ok());
  for (auto* const read : {&seqd::read_metadata_document, &seqd::read_sts_document})
    check_grant(read(text));
  ASSERT(seqd::aws_error_of(text).size() < 300);
  const auto moment = seqd::parse_aws_time(text);
  ASSERT(!moment || *moment >= 0);
  ASSERT(!seqd::check_aws_address(text).ok() || text.starts_with("http"));
  search(data[0], text, "");
  search(data[0], text, "ids");
  return 0;
}

// AwsWorld: what sources of AWS credentials work with, all of it scripted: environment, files,
// servers and time. Everything is answered by a turn of the simulated time. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/dynamo/credentials/aws_source.h"
#include "tests/unit/virtual_time.h"

namespace seqd::testing {

class AwsWorld : public HttpClient, public FileReader {
 public:
  VirtualTime time;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> files;
  std::map<std::string, HttpReply> replies;  // by "GET URL"; who is not here is not there

  std::vector<HttpRequest> requests;
  std::vector<std::string> reads;  // the paths

  AwsParts parts() {
    return {*this, *this, [this](const char* name) {
              const auto found = environment.find(name);
              return found == environment.end() ? std::string() : found->second;
            }};
  }

  void say(const std::string& request, int status, const std::string& body) {
    replies[request] = {.status = status, .sent = true, .body = body, .error = ""};
  }

  // Asks and lets time pass until there is an answer.
  AwsAnswer ask(AwsSource& source) {
    std::optional<AwsAnswer> answer;
    source.ask([&](AwsAnswer given) { answer = std::move(given); });
    while (!answer && time.run_next()) {
    }
    return answer.value();
  }

  void send(HttpRequest request, std::function<void(HttpReply)> done) override {
    const auto found = replies.find(request.method + " " + request.url);
    HttpReply reply{.status = 0, .sent = false, .body = "", .error = "nobody listens there"};
    if (found != replies.end()) reply = found->second;
    requests.push_back(std::move(request));
    time.schedule(1, [done = std::move(done), reply] { done(reply); });
  }
  void read(const std::string& path, std::function<void(Result<std::string>)> done) override {
    reads.push_back(path);
    const auto found = files.find(path);
    const Result<std::string> content =
        found != files.end() ? Result<std::string>(found->second)
                             : Result<std::string>(ErrorCode::CONFIG, path + " cannot be opened");
    time.schedule(1, [done = std::move(done), content] { done(content); });
  }
};

// As a container or an instance has it.
inline std::string metadata_document(const std::string& key,
                                     const std::string& expiration = "2030-01-01T00:00:00Z") {
  return R"({"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": ")" + key +
         R"(", "SecretAccessKey": "hunter2", "Token": "token", "Expiration": ")" + expiration +
         R"("})";
}

}  // namespace seqd::testing

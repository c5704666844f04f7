#include "daemon/store/dynamo/credentials/aws_chain.h"

#include <utility>

#include "daemon/base/assertion.h"
#include "daemon/store/dynamo/credentials/aws_credentials.h"
#include "daemon/store/dynamo/credentials/aws_metadata.h"
#include "daemon/store/dynamo/credentials/aws_shared_files.h"
#include "daemon/store/dynamo/credentials/aws_web_identity.h"

namespace seqd {

void AwsChain::ask(Done done) {
  ask_next(0, "", done);
}

void AwsChain::ask_next(std::size_t at, const std::string& answers, const Done& done) {
  if (at == sources_.size()) return done(aws_absent(answers));
  AwsSource& source = *sources_[at];
  source.ask(lifetime_.guard([this, at, answers, done, name = source.name()](AwsAnswer answer) {
    if (answer.kind == AwsAnswer::Kind::found) return done(std::move(answer));
    const std::string all = answers + (answers.empty() ? "" : "; ") + name + ": " + answer.why;
    if (answer.kind == AwsAnswer::Kind::failed) return done(aws_failed(all));
    ask_next(at + 1, all, done);
  }));
}

void AwsEnvironment::ask(Done done) {
  const AwsCredentials found{parts_.environment("AWS_ACCESS_KEY_ID"),
                             parts_.environment("AWS_SECRET_ACCESS_KEY"),
                             parts_.environment("AWS_SESSION_TOKEN")};
  if (found.access_key_id.empty()) return done(aws_absent("AWS_ACCESS_KEY_ID is not set"));
  if (found.secret_access_key.empty())
    return done(aws_failed("AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; set both"));
  if (Status status = check_aws_credentials(found); !status.ok())
    return done(aws_failed("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN: " +
                           status.text()));
  done(aws_answer(AwsGrant{found, {}, {}}, "environment"));
}

void AwsConfigured::ask(Done done) {
  Result<AwsCredentials> found = read_();
  if (!found.ok()) return done(aws_failed(found.status().text()));
  done(aws_answer(AwsGrant{std::move(*found), {}, {}}, origin_));
}

std::unique_ptr<AwsChain> default_aws_chain(const AwsParts& parts, const std::string& profile,
                                            const std::string& region) {
  std::vector<std::unique_ptr<AwsSource>> sources;
  if (profile.empty()) {
    sources.push_back(std::make_unique<AwsEnvironment>(parts));
    sources.push_back(std::make_unique<AwsWebIdentitySource>(parts, region));
  }
  sources.push_back(std::make_unique<AwsSharedFiles>(parts, profile, region));
  if (profile.empty()) {
    sources.push_back(std::make_unique<AwsContainer>(parts));
    sources.push_back(std::make_unique<AwsInstance>(parts));
  }
  return std::make_unique<AwsChain>(std::move(sources));
}

}  // namespace seqd

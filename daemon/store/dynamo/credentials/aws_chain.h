// AwsChain: the sources of credentials in the order of Amazon's own libraries. The first one that
// is configured decides; later sources are not queried. Loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/lifetime.h"
#include "daemon/store/dynamo/credentials/aws_source.h"

namespace seqd {

class AwsChain final : public AwsSource {
 public:
  explicit AwsChain(std::vector<std::unique_ptr<AwsSource>> sources)
      : sources_(std::move(sources)) {}

  std::string name() const override { return "chain"; }
  // If none is found, `why` has every source that was queried and its answer.
  void ask(Done done) override;

 private:
  void ask_next(std::size_t at, const std::string& answers, const Done& done);

  const std::vector<std::unique_ptr<AwsSource>> sources_;
  const Lifetime lifetime_;
};

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
class AwsEnvironment final : public AwsSource {
 public:
  explicit AwsEnvironment(const AwsParts& parts) : parts_(parts) {}
  std::string name() const override { return "environment"; }
  void ask(Done done) override;

 private:
  const AwsParts parts_;
};

// What the configuration names itself: a function that reads it, at once.
class AwsConfigured final : public AwsSource {
 public:
  AwsConfigured(std::string origin, std::function<Result<AwsCredentials>()> read)
      : origin_(std::move(origin)), read_(std::move(read)) {}
  std::string name() const override { return origin_; }
  void ask(Done done) override;

 private:
  const std::string origin_;
  const std::function<Result<AwsCredentials>()> read_;
};

// environment, web identity, shared files, container, instance. With a `profile` it is the only
// source: it was named, so the environment does not count.
std::unique_ptr<AwsChain> default_aws_chain(const AwsParts& parts, const std::string& profile,
                                            const std::string& region);

}  // namespace seqd

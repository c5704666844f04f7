#include "daemon/main/modules/aws_access.h"

#include <utility>
#include <vector>

#include "daemon/main/config/config_dynamo.h"
#include "daemon/os/credentials.h"
#include "daemon/store/dynamo/credentials/aws_chain.h"

namespace seqd {
namespace {

constexpr int kConnections = 2;

std::unique_ptr<AwsSource> source_of(const StoreSettings& settings, const AwsParts& parts) {
  if (settings.aws_credentials_file.empty())
    return default_aws_chain(parts, settings.aws_profile, settings.region);
  return std::make_unique<AwsConfigured>("aws_credentials_file", [settings] {
    Result<DynamoCredentials> found = read_dynamo_credentials(settings);
    return found.ok() ? Result<AwsCredentials>(found->credentials)
                      : Result<AwsCredentials>(found.status());
  });
}

}  // namespace

void WorkerFileReader::read(const std::string& path,
                            std::function<void(Result<std::string>)> done) {
  auto content = std::make_shared<Result<std::string>>(std::string());
  worker_.submit(
      [path, content] {
        Result<Secret> secret = read_secret_text(path);
        *content = secret.ok() ? Result<std::string>(std::move(secret->value))
                               : Result<std::string>(secret.status());
      },
      [content, done = std::move(done)] { done(std::move(*content)); });
}

AwsAccess::AwsAccess(const std::string& name, const StoreSettings& settings, EventLoop& loop,
                     const Clock& clock, EventSink& events)
    : http_(loop, kConnections, settings.tls_ca_file),
      worker_(loop, "aws-" + name, 1),
      files_(worker_) {
  const auto raise = [&events, name](EventKind kind, const std::string& text,
                                     const std::string& key) {
    Event event{kind, "store \"" + name + "\": " + text, {{"STORE", name}}};
    if (!key.empty()) event.fields.emplace_back("ACCESS_KEY_ID", key);
    events.raise(event);
  };
  const AwsParts parts{http_, files_, read_environment};
  keeper_ = std::make_unique<AwsKeeper>(
      source_of(settings, parts), loop, clock, random_, settings.timeout_ms,
      [raise](const AwsNews& news) {
        raise(news.good ? EventKind::credentials_found : EventKind::credentials_missing, news.text,
              news.access_key_id);
      });
}

}  // namespace seqd

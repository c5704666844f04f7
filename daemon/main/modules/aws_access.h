// AwsAccess: the credentials of one DynamoDB store, with everything needed to find them: an HTTP
// client of its own, which the store's requests do not delay, and a thread that reads files. Owned
// by the owner of the store, which it outlives; loop thread.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/events.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/os/system_random.h"
#include "daemon/store/dynamo/credentials/aws_keeper.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/http/http_client.h"
#include "daemon/uv/thread_worker.h"

namespace seqd {

// Reads by a worker.
class WorkerFileReader final : public FileReader {
 public:
  explicit WorkerFileReader(Worker& worker) : worker_(worker) {}
  void read(const std::string& path, std::function<void(Result<std::string>)> done) override;

 private:
  Worker& worker_;
};

class AwsAccess {
 public:
  // `name`: the store's. Nothing is fetched before the store needs it.
  AwsAccess(const std::string& name, const StoreSettings& settings, EventLoop& loop,
            const Clock& clock, EventSink& events);

  AwsProvider& provider() { return *keeper_; }
  // No file is being read: a read that hangs must not keep a daemon that stops.
  bool quiet() const { return worker_.quiet(); }

 private:
  UvHttpClient http_;
  ThreadWorker worker_;
  WorkerFileReader files_;
  SystemRandom random_;
  std::unique_ptr<AwsKeeper> keeper_;
};

}  // namespace seqd

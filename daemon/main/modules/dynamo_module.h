// What the module dynamodb.so offers: stores of DynamoDB, with their HTTP client (libcurl), and the
// credentials that their requests are signed by (libcrypto). See daemon/os/modules/module.h.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/events.h"
#include "daemon/base/status.h"
#include "daemon/base/time/clock.h"
#include "daemon/core/leasing/lease_store.h"
#include "daemon/core/registers/register_store.h"
#include "daemon/main/config/config_settings.h"
#include "daemon/store/lease_trace.h"
#include "daemon/uv/event_loop.h"

namespace seqd {

// A store with all that it needs. Loop thread.
class OpenDynamo {
 public:
  virtual ~OpenDynamo() = default;
  virtual LeaseStore& store() = 0;
  virtual RegisterStore& registers() = 0;
  virtual LeaseTrace trace() const = 0;
  // No call is under way, nor is a file being read on another thread.
  virtual bool quiet() const = 0;
};

class DynamoModule {
 public:
  virtual ~DynamoModule() = default;
  // CONFIG when the settings cannot be used; a service that is away is no error. `name`: the
  // store's. Loop, clock and events outlive it.
  virtual Result<std::unique_ptr<OpenDynamo>> open(const std::string& name,
                                                   const StoreSettings& settings, EventLoop& loop,
                                                   const Clock& clock, EventSink& events) = 0;
};

}  // namespace seqd

// The caller owns what it returns.
extern "C" seqd::DynamoModule* seqd_dynamodb_module();

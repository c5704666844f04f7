// AwsProvider: what a client of one of Amazon's services needs to know of credentials: it asks for
// some, and says when they were refused. Loop thread.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/store/dynamo/aws_signature.h"

namespace seqd {

class AwsProvider {
 public:
  using Given = Result<std::shared_ptr<const AwsCredentials>>;

  virtual ~AwsProvider() = default;
  // Calls `done` once, perhaps before it returns, unless the provider is destroyed before.
  virtual void get(std::function<void(const Given&)> done) = 0;
  // The service refused a request that was signed with these. True: there are others by now, or
  // perhaps soon, so the refusal is not the last word.
  virtual bool refused(const AwsCredentials& credentials) = 0;
};

}  // namespace seqd

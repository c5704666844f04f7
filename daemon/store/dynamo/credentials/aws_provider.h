// AwsProvider: where a client of one of Amazon's services gets its credentials, and reports when
// they were refused. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/store/dynamo/wire/aws_signature.h"

namespace seqd {

// What a service found wrong with the credentials of a request.
enum class AwsRefusal : std::uint8_t {
  keys,    // it does not accept them: every request that is signed with them fails
  rights,  // it accepts them, but they lack the right for this request
};

class AwsProvider {
 public:
  using Given = Result<std::shared_ptr<const AwsCredentials>>;

  virtual ~AwsProvider() = default;
  // Calls `done` once, perhaps before it returns, unless the provider is destroyed before.
  virtual void get(std::function<void(const Given&)> done) = 0;
  // The service refused a request that was signed with these. True: there are others by now, or
  // perhaps soon, so the refusal is not the last word. While others are searched for, credentials
  // whose keys were refused are not used; credentials that lack a right are, for what they may do.
  virtual bool refused(const AwsCredentials& credentials, AwsRefusal why) = 0;
};

}  // namespace seqd

// AwsKeeper: holds the credentials of one store, fetches new ones before they expire, and at once
// when the service refuses them. Meanwhile callers wait, or get the present ones if these are still
// valid. Loop thread; the referenced objects outlive it.
//
// Invariant: the source is queried by one call at a time, and never in a tight loop: after a
// failure there is a growing pause, and between calls caused by refusals one of kRefusedPauseMs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/fifo.h"
#include "daemon/base/lifetime.h"
#include "daemon/base/random.h"
#include "daemon/base/time/clock.h"
#include "daemon/base/time/timers.h"
#include "daemon/store/dynamo/credentials/aws_provider.h"
#include "daemon/store/dynamo/credentials/aws_source.h"

namespace seqd {

// A change to report once: other credentials were found, or no credentials are found any more.
struct AwsNews {
  bool good = false;
  std::string text;
  std::string access_key_id;  // of good news
};

class AwsKeeper final : public AwsProvider {
 public:
  static constexpr std::int64_t kEarlyMs = 300'000;  // new ones are fetched so long before
  static constexpr std::int64_t kJitterMs = 60'000;  // and at most so much earlier
  static constexpr std::int64_t kFirstPauseMs = 1'000;
  static constexpr std::int64_t kLongestPauseMs = 60'000;
  static constexpr std::int64_t kRefusedPauseMs = 10'000;
  static constexpr std::size_t kMostWaiting = 16'384;
  static constexpr std::size_t kServedATurn = 64;

  // `patience_ms`: how long a caller may wait.
  AwsKeeper(std::unique_ptr<AwsSource> source, Timers& timers, const Clock& clock, Random& random,
            std::int64_t patience_ms, std::function<void(const AwsNews&)> report)
      : source_(std::move(source)),
        timers_(timers),
        clock_(clock),
        random_(random),
        patience_ms_(patience_ms),
        report_(std::move(report)) {}
  // Callers that wait get no answer.
  ~AwsKeeper() override;
  AwsKeeper(const AwsKeeper&) = delete;
  AwsKeeper& operator=(const AwsKeeper&) = delete;

  // UNAVAILABLE while there are none, with what each source says.
  void get(std::function<void(const Given&)> done) override;
  bool refused(const AwsCredentials& credentials, AwsRefusal why) override;

 private:
  bool is_usable() const;
  Given present() const;
  void ask();
  void ask_in(std::int64_t delay_ms, bool for_refusal = false);
  void take(AwsAnswer answer);
  void found(AwsGrant grant, std::int64_t left_ms);
  void failed(const std::string& why);
  void serve();

  const std::unique_ptr<AwsSource> source_;
  Timers& timers_;
  const Clock& clock_;
  Random& random_;
  const std::int64_t patience_ms_;
  const std::function<void(const AwsNews&)> report_;

  std::shared_ptr<const AwsCredentials> credentials_;  // null: there were never any
  std::optional<std::int64_t> expires_ms_;             // by the monotonic clock
  std::optional<AwsRefusal> refused_;                  // by the service, since they were found
  Status error_;                                       // why there are none
  bool asking_ = false;
  std::optional<std::int64_t> refusal_ms_;  // when the source was last queried because of one
  int failures_ = 0;                        // since the last success
  std::string reported_;                    // the last bad news, without times, or empty
  TimerId next_ = 0;                        // when the source is queried again
  std::int64_t next_ms_ = 0;
  Fifo<std::function<void(const Given&)>> waiting_;
  TimerId patience_ = 0;
  TimerId serving_ = 0;
  const Lifetime lifetime_;
};

}  // namespace seqd

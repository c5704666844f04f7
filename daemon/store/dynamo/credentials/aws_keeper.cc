#include "daemon/store/dynamo/credentials/aws_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace seqd {
namespace {

Status none(const std::string& why) {
  return {ErrorCode::UNAVAILABLE, "there are no AWS credentials: " + why};
}

// Removes the milliseconds after which libcurl gave up: they differ each time.
std::string without_times(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view behind = text.substr(digits);
    const bool time = digits > 0 && (behind.starts_with(" ms") || behind.starts_with(" millisec"));
    const std::size_t size = std::max<std::size_t>(digits, 1);
    if (!time) out += text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

AwsKeeper::~AwsKeeper() {
  for (const TimerId timer : {next_, patience_, serving_}) timers_.cancel(timer);
}

bool AwsKeeper::is_usable() const {
  if (!credentials_ || (refused_ == AwsRefusal::keys && asking_)) return false;
  return !expires_ms_ || clock_.monotonic_ms() < *expires_ms_;
}

AwsKeeper::Given AwsKeeper::present() const {
  if (is_usable()) return credentials_;
  if (!error_.ok()) return error_;
  return none(asking_ ? "the sources were queried and have not answered yet" : "they have expired");
}

void AwsKeeper::get(std::function<void(const Given&)> done) {
  if (is_usable()) return done(credentials_);
  if (!asking_ && next_ == 0) ask();
  if (!asking_) return done(present());
  if (waiting_.size() >= kMostWaiting)
    return done(none("too many requests wait for the sources' answer"));
  waiting_.push_back(std::move(done));
  if (patience_ != 0) return;
  patience_ = timers_.schedule(patience_ms_, [this] {
    patience_ = 0;
    serve();
  });
}

bool AwsKeeper::refused(const AwsCredentials& credentials, AwsRefusal why) {
  // Perhaps those before the present ones.
  const auto are_others = [&] { return !credentials_ || *credentials_ != credentials; };
  if (are_others()) return true;
  if (refused_ != AwsRefusal::keys) refused_ = why;
  const std::int64_t now = clock_.monotonic_ms();
  std::int64_t since = refusal_ms_ ? now - *refusal_ms_ : kRefusedPauseMs;
  if (!asking_ && since >= kRefusedPauseMs) {
    refusal_ms_ = now;
    since = 0;
    ask();
  }
  if (asking_ || are_others()) return true;
  const std::int64_t wait = kRefusedPauseMs - since;
  if (next_ == 0 || next_ms_ > now + wait) ask_in(std::max<std::int64_t>(0, wait), true);
  return false;
}

void AwsKeeper::ask() {
  timers_.cancel(next_);
  next_ = 0;
  asking_ = true;
  source_->ask(lifetime_.guard([this](AwsAnswer answer) { take(std::move(answer)); }));
}

void AwsKeeper::ask_in(std::int64_t delay_ms, bool for_refusal) {
  timers_.cancel(next_);
  next_ms_ = clock_.monotonic_ms() + delay_ms;
  next_ = timers_.schedule(delay_ms, [this, for_refusal] {
    next_ = 0;
    if (asking_) return;
    if (for_refusal || refused_) refusal_ms_ = clock_.monotonic_ms();
    ask();
  });
}

void AwsKeeper::take(AwsAnswer answer) {
  asking_ = false;
  if (answer.kind != AwsAnswer::Kind::found) {
    failed(answer.why);
  } else {
    const auto expires = answer.grant.expires_ms;
    // How long they last is taken from the wall's clock once, so that it may be set later on.
    const std::int64_t left_ms = expires ? *expires - clock_.wall_ms() : 0;
    if (expires && left_ms <= 0) {
      failed(answer.grant.origin + ": they have expired already; check this host's clock");
    } else {
      found(std::move(answer.grant), left_ms);
    }
  }
  serve();
}

void AwsKeeper::found(AwsGrant grant, std::int64_t left_ms) {
  const bool others =
      !credentials_ || credentials_->access_key_id != grant.credentials.access_key_id;
  const bool is_news = others || failures_ > 0;
  credentials_ = std::make_shared<const AwsCredentials>(std::move(grant.credentials));
  refused_.reset();
  failures_ = 0;
  error_ = {};
  reported_.clear();
  expires_ms_.reset();
  std::string lasts = "it is not known when they expire";
  if (grant.expires_ms) {
    expires_ms_ = clock_.monotonic_ms() + left_ms;
    const std::int64_t early =
        kEarlyMs +
        static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(kJitterMs));
    // Those that last for a short time only are replaced in the middle of it.
    ask_in(std::max(kFirstPauseMs, std::max(left_ms - early, left_ms / 2)));
    lasts = fmt::format("they expire in {} s", left_ms / 1000);
  }
  if (is_news)
    report_({true,
             fmt::format("AWS credentials {} from {}; {}", credentials_->access_key_id,
                         grant.origin, lasts),
             credentials_->access_key_id});
}

void AwsKeeper::failed(const std::string& why) {
  error_ = none(why);
  const std::int64_t pause = std::min(kLongestPauseMs, kFirstPauseMs << std::min(failures_, 10));
  ++failures_;
  // Between half of it and all, so that hosts that were refused together do not retry together.
  const auto half = static_cast<std::uint64_t>(pause / 2);
  ask_in(pause / 2 + static_cast<std::int64_t>(random_.next() % (half + 1)));
  const std::string text =
      is_usable() ? "new AWS credentials were not found, and the present ones are used: " + why
                  : error_.text();
  std::string news = without_times(text);
  if (news == reported_) return;
  reported_ = std::move(news);
  report_({false, text, ""});
}

// Answers waiting callers, some a turn: there may be thousands.
void AwsKeeper::serve() {
  timers_.cancel(patience_);
  patience_ = 0;
  for (std::size_t served = 0; served < kServedATurn && !waiting_.empty(); ++served) {
    const std::function<void(const Given&)> done = std::move(waiting_.front());
    waiting_.pop_front();
    done(present());
  }
  if (waiting_.empty() || serving_ != 0) return;
  serving_ = timers_.schedule(0, [this] {
    serving_ = 0;
    serve();
  });
}

}  // namespace seqd

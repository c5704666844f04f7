#include "daemon/core/turn.h"

#include "daemon/base/assertion.h"

namespace seqd {

constexpr StateTable<Turn::Phase> Turn::kMoves = {
    {Phase::serving, "serving", {Phase::stopping}},
    {Phase::stopping, "stopping", {Phase::leaving}},
    {Phase::leaving, "leaving", {Phase::over}},
    {Phase::over, "over", {}},
};

void Turn::end() {
  owner_.decide();
  table_.end_turn();
  if (phase_ == Phase::stopping && table_.settled() && owner_.others_settled()) {
    if (!leave()) return;
  }
  // The record of the turn first, its replies second.
  const Status written = log_.commit();
  if (!written.ok()) return owner_.die(written);
  // A page may say only what the log has.
  table_.blocks().publish();
  owner_.reply();
}

void Turn::begin_stop(const Status& why) {
  ASSERT(!why.ok());
  phase_.move_to(Phase::stopping);
  table_.begin_stop(why);
}

bool Turn::leave() {
  if (phase_ != Phase::stopping) return true;
  // No record becomes durable any more, and none is waited for.
  if (!failure_.ok()) {
    owner_.die(failure_);
    return false;
  }
  phase_.move_to(Phase::leaving);
  if (owner_.leaves_state() && table_.leave_clean())
    clean_position_ = log_.next_position();
  else
    finish();
  return true;
}

void Turn::durable(LogPosition position) {
  table_.durable(position);
  ASSERT(phase_ != Phase::leaving || clean_position_ > 0);
  if (phase_ == Phase::leaving && position >= clean_position_) finish();
}

void Turn::flush_failed(const Status& status) {
  // FENCED: another daemon may have the files already, so not even what is reserved may be issued.
  // While it stops there is nothing left to serve.
  if (status.code() == ErrorCode::FENCED || phase_ != Phase::serving) return owner_.die(status);
  failure_ = status;
  table_.flush_failed(status);
  owner_.log_failed(status);
}

void Turn::finish() {
  phase_.move_to(Phase::over);
  owner_.over();
}

}  // namespace seqd

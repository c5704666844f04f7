#include "tests/adapters/client/connect_hook.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace seqd::testing {
namespace {

thread_local std::function<void(int)> hook;

}  // namespace

ConnectHook::ConnectHook(std::function<void(int)> then) {
  hook = std::move(then);
}

ConnectHook::~ConnectHook() {
  hook = nullptr;
}

static void run_hook(int descriptor) {
  if (const auto then = std::exchange(hook, nullptr)) then(descriptor);
}

}  // namespace seqd::testing

// The whole program's.
extern "C" int connect(int descriptor, const sockaddr* address, socklen_t size) {
  seqd::testing::run_hook(descriptor);
  return static_cast<int>(::syscall(SYS_connect, descriptor, address, size));
}

#include "daemon/uv/process_runner.h"

#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

// What is not for a program of ours to answer or to take.
constexpr std::array<std::string_view, 6> kOurs = {
    "NOTIFY_SOCKET=",  "LISTEN_FDS=",    "LISTEN_PID=",
    "LISTEN_FDNAMES=", "WATCHDOG_USEC=", "WATCHDOG_PID="};

std::vector<char*> child_environment() {
  std::vector<char*> out;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view one(*at);
    const bool ours = std::any_of(kOurs.begin(), kOurs.end(),
                                  [&](std::string_view name) { return one.starts_with(name); });
    if (!ours) out.push_back(*at);
  }
  out.push_back(nullptr);
  return out;
}

// Not every library marks its descriptors as ours; libcurl does not mark its sockets. (The kernel
// can since 5.11. An older one passes them on.)
void keep_descriptors() {
  static_cast<void>(close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC));
}

}  // namespace

// Lives until its last handle is closed.
struct UvProcessRunner::Run {
  UvProcessRunner* runner = nullptr;  // null: it is closing, and no caller waits
  ProcessRequest request;
  std::function<void(ProcessResult)> done;
  ProcessResult result;
  uv_process_t process{};
  uv_pipe_t output{};
  uv_pipe_t complaints{};
  std::array<char, 4096> buffer{};
  bool started = false;
  bool runs = false;     // and was not waited for by libuv yet
  int ends_to_come = 0;  // of the program and both pipes
  int open_handles = 3;
  TimerId timer = 0;
};

template <typename Handle>
void UvProcessRunner::close_handle(Handle* handle) {
  uv_close(reinterpret_cast<uv_handle_t*>(handle), [](uv_handle_t* closed) {
    auto* const run = static_cast<Run*>(closed->data);
    if (--run->open_handles == 0) delete run;
  });
}

UvProcessRunner::~UvProcessRunner() {
  for (Run* const run : runs_) {
    loop_.cancel(run->timer);
    kill_group(*run);
    close(*run);
  }
}

void UvProcessRunner::run(ProcessRequest request, std::function<void(ProcessResult)> done) {
  ASSERT(done && !request.arguments.empty() && request.timeout_ms > 0);
  auto* const run = new Run;
  run->runner = this;
  run->request = std::move(request);
  run->done = std::move(done);
  runs_.insert(run);
  const int failed = start(*run, loop_.raw());
  if (failed == 0) {
    run->started = run->runs = true;
    run->ends_to_come = 3;
    listen(run->output);
    listen(run->complaints);
    run->timer = loop_.schedule(run->request.timeout_ms, [run] {
      give_up(*run,
              fmt::format("did not end within {} ms and was killed", run->request.timeout_ms));
    });
    return;
  }
  // Not before this call has returned.
  run->timer = loop_.schedule(0, [run, failed] {
    give_up(*run, fmt::format("could not be started: {}", uv_strerror(failed)));
  });
}

int UvProcessRunner::start(Run& run, uv_loop_t* loop) {
  for (uv_pipe_t* const pipe : {&run.output, &run.complaints}) {
    ASSERT(uv_pipe_init(loop, pipe, 0) == 0);
    pipe->data = &run;
  }
  std::vector<char*> arguments;
  for (std::string& argument : run.request.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment = child_environment();
  std::array<uv_stdio_container_t, 3> stdio{};
  const auto to_us = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
  stdio[0].flags = UV_IGNORE;
  stdio[1].flags = to_us;
  stdio[1].data.stream = reinterpret_cast<uv_stream_t*>(&run.output);
  stdio[2].flags = to_us;
  stdio[2].data.stream = reinterpret_cast<uv_stream_t*>(&run.complaints);
  uv_process_options_t options{};
  options.file = arguments[0];
  options.args = arguments.data();
  options.env = environment.data();
  options.stdio = stdio.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.flags = UV_PROCESS_DETACHED;  // so that it can be killed with all that it started
  options.exit_cb = [](uv_process_t* process, std::int64_t status, int signal) {
    auto& ended = *static_cast<Run*>(process->data);
    ended.runs = false;
    if (ended.runner == nullptr) return close_handle(process);
    if (signal != 0) {
      ended.result.error = fmt::format("was ended by signal {}", signal);
    } else if (status != 0) {
      ended.result.error = fmt::format("ended with status {}", status);
    }
    step(ended);
  };
  run.process.data = &run;
  keep_descriptors();
  return uv_spawn(loop, &run.process, &options);
}

void UvProcessRunner::listen(uv_pipe_t& pipe) {
  const auto room = [](uv_handle_t* handle, std::size_t /*wanted*/, uv_buf_t* into) {
    auto& reading = *static_cast<Run*>(handle->data);
    *into = uv_buf_init(reading.buffer.data(), static_cast<unsigned>(reading.buffer.size()));
  };
  const auto came = [](uv_stream_t* stream, ssize_t size, const uv_buf_t* bytes) {
    auto& reading = *static_cast<Run*>(stream->data);
    if (size > 0) return take(reading, stream, bytes->base, static_cast<std::size_t>(size));
    if (size == 0) return;
    uv_read_stop(stream);
    step(reading);
  };
  ASSERT(uv_read_start(reinterpret_cast<uv_stream_t*>(&pipe), room, came) == 0);
}

void UvProcessRunner::take(Run& run, const uv_stream_t* stream, const char* data,
                           std::size_t size) {
  const bool is_output = stream == reinterpret_cast<uv_stream_t*>(&run.output);
  std::string& into = is_output ? run.result.output : run.result.complaints;
  const std::size_t most = is_output ? run.request.most_output : kMostComplaints;
  const bool too_much = size > most - into.size();
  into.append(data, std::min(size, most - into.size()));
  if (is_output && too_much)
    give_up(run, fmt::format("wrote more than {} bytes and was killed", most));
}

// One of the ends has come.
void UvProcessRunner::step(Run& run) {
  if (--run.ends_to_come == 0) end(run);
}

void UvProcessRunner::give_up(Run& run, const std::string& why) {
  kill_group(run);
  run.result.error = why;
  run.result.output.clear();
  end(run);
}

void UvProcessRunner::end(Run& run) {
  UvProcessRunner& runner = *run.runner;
  runner.loop_.cancel(run.timer);
  runner.runs_.erase(&run);
  const auto done = std::move(run.done);
  ProcessResult result = std::move(run.result);
  close(run);
  done(std::move(result));
}

// The program with all that it started, as far as that is in its group still.
void UvProcessRunner::kill_group(const Run& run) {
  if (!run.started) return;
  // Until libuv has waited for it, no other process has its number; nor while a process is in its
  // group: the kernel reuses a number only after the process and the group have ended.
  if (run.runs || (kill(run.process.pid, 0) != 0 && errno == ESRCH))
    kill(-run.process.pid, SIGKILL);
}

// Who runs on is dropped when it has ended.
void UvProcessRunner::close(Run& run) {
  run.runner = nullptr;
  run.done = nullptr;
  close_handle(&run.output);
  close_handle(&run.complaints);
  if (!run.runs) close_handle(&run.process);
}

}  // namespace seqd

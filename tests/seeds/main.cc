// old_code: the programs that handed out IDs before seqd, imitated for the tests of a migration.
//
//   old_code ROW --uri U --database D --name N --log FILE
//
// ROW is counters ([--upsert] [--mongoose] [--shell]), cached-block, cached-range, daily-ids
// ([--keep-days DAYS]), optimistic-insert, or conditional-update (--table T --access-key K
// [--old], U being DynamoDB's endpoint).
//
// Hands out IDs to --callers threads until it has --ids of them, or SIGTERM; FILE says what
// happened (issue_log.h). At the end one line: "issued N lost M failed F", lost being what was in
// available and went with the process.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/seeds/conditional_update.h"
#include "tests/seeds/old_code.h"

namespace {

using namespace seqd::seeds;

std::atomic<bool> g_stop = false;

struct Arguments {
  std::string uri;
  std::string database = "seqd";
  std::string name;
  std::string log;
  int callers = 4;
  std::int64_t ids = 0;  // 0: until SIGTERM
  std::string into = "users";
  std::chrono::milliseconds pace{0};
  int keep_days = 30;
  std::string table;
  std::string access_key;
  bool old = false;
  bool upsert = false;
  bool mongoose = false;
  bool shell = false;
};

// One of the program's callers, with that pause between two IDs: takes an ID after the other, and
// after a failure waits twice as long as after the one before.
void call(OldCode& code, const IssueLog& log, std::int64_t ids, std::chrono::milliseconds pace) {
  constexpr std::chrono::milliseconds kLongest(64);
  std::chrono::milliseconds pause(1);
  while (!g_stop && (ids == 0 || log.issued() < ids)) {
    if (code.next()) {
      pause = std::chrono::milliseconds(1);
      if (pace.count() > 0) std::this_thread::sleep_for(pace);
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

// Until there are enough of them; says what happened.
void hand_out(const Arguments& arguments, std::unique_ptr<OldCode> code, const IssueLog& log) {
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < arguments.callers; ++i)
      callers.emplace_back([&] { call(*code, log, arguments.ids, arguments.pace); });
  }
  code.reset();
  std::printf("issued %lld lost %lld failed %lld\n", static_cast<long long>(log.issued()),
              static_cast<long long>(log.taken() - log.issued()),
              static_cast<long long>(log.failures()));
}

template <typename Make>
int run(const Arguments& arguments, const Make& make) {
  mongoc_client_t* client = mongoc_client_new(arguments.uri.c_str());
  if (client == nullptr) give_up("the URI is not understood: " + arguments.uri);
  mongoc_client_set_appname(client, "old-code");
  IssueLog log(arguments.log);
  hand_out(arguments, make(Database{client, arguments.database}, log), log);
  mongoc_client_destroy(client);
  return 0;
}

CLI::App* add_row(CLI::App& program, const char* name, const char* what, Arguments& arguments) {
  CLI::App* row = program.add_subcommand(name, what);
  row->add_option("--uri", arguments.uri)->required();
  row->add_option("--database", arguments.database);
  row->add_option("--name", arguments.name)->required();
  row->add_option("--log", arguments.log)->required();
  row->add_option("--callers", arguments.callers)->check(CLI::Range(1, 64));
  row->add_option("--ids", arguments.ids)->check(CLI::NonNegativeNumber);
  row->add_option_function<int>(
      "--pace", [&](int ms) { arguments.pace = std::chrono::milliseconds(ms); },
      "milliseconds between two IDs of a caller");
  return row;
}

}  // namespace

// An exception (memory, threads) ends the program loudly, which is right for a program of the
// tests. NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App program("what handed out IDs before seqd");
  program.require_subcommand(1);
  CLI::App* counters = add_row(program, "counters", "one findAndModify an ID", arguments);
  counters->add_option("--into", arguments.into, "where documents get the IDs");
  counters->add_flag("--upsert", arguments.upsert, "make the counter when it is missing");
  counters->add_flag("--mongoose", arguments.mongoose, "put __v: 0 into a counter that is made");
  counters->add_flag("--shell", arguments.shell, "write numbers as the mongo shell does: doubles");
  CLI::App* daily = add_row(program, "daily-ids", "a counter a day", arguments);
  daily->add_option("--keep-days", arguments.keep_days)->check(CLI::PositiveNumber);
  CLI::App* block = add_row(program, "cached-block", "25 at a time, as the Go code", arguments);
  CLI::App* range = add_row(program, "cached-range", "10 at a time, as the Node code", arguments);
  CLI::App* insert =
      add_row(program, "optimistic-insert", "the highest _id plus one, in collection N", arguments);
  CLI::App* conditional =
      add_row(program, "conditional-update", "N + 1 where it still is N, on DynamoDB", arguments);
  conditional->add_option("--table", arguments.table)->required();
  conditional->add_option("--access-key", arguments.access_key)->required();
  conditional->add_flag("--old", arguments.old, "return the old number, not the one after");
  CLI11_PARSE(program, argc, argv);
  std::signal(SIGTERM, [](int) { g_stop = true; });
  mongoc_init();
  int code = 1;
  if (counters->parsed()) {
    code = run(arguments, [&](const Database& database, IssueLog& log) {
      const CountersCollection::Ways ways{arguments.upsert, arguments.mongoose,
                                          arguments.shell ? Written::real : Written::int32,
                                          arguments.into};
      return std::make_unique<CountersCollection>(database, arguments.name, ways, log);
    });
  } else if (daily->parsed()) {
    code = run(arguments, [&](const Database& database, IssueLog& log) {
      return std::make_unique<DailyIds>(database, arguments.keep_days, log);
    });
  } else if (block->parsed()) {
    code = run(arguments, [&](const Database& database, IssueLog& log) {
      return std::make_unique<CachedBlock>(database, arguments.name, log);
    });
  } else if (insert->parsed()) {
    code = run(arguments, [&](const Database& database, IssueLog& log) {
      return std::make_unique<OptimisticInsert>(database, arguments.name, arguments.log, log);
    });
  } else if (range->parsed()) {
    code = run(arguments, [&](const Database& database, IssueLog& log) {
      return std::make_unique<CachedRange>(database, arguments.name, log);
    });
  } else if (conditional->parsed()) {
    IssueLog log(arguments.log);
    const ConditionalUpdate::Service service{arguments.uri, arguments.table, arguments.access_key};
    hand_out(arguments,
             std::make_unique<ConditionalUpdate>(service, arguments.name, arguments.old, log), log);
    code = 0;
  }
  mongoc_cleanup();
  return code;
}

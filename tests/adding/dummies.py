"""A dummy of each kind of thing in "Adding things" of daemon/doc/HACKING.md: what is written where to add it."""

from dataclasses import dataclass


@dataclass
class Edit:
    path: str
    text: str  # added behind the first `behind` of the file; the whole file, where that is empty
    behind: str = ""


@dataclass
class Dummy:
    kind: str  # how its paragraph begins
    edits: list


METHOD_SOURCE = """#include <string>

#include "daemon/rpc/method_list.h"
#include "daemon/rpc/packing.h"
#include "protocol/replies.h"

namespace seqd {

// The dummy of tests/adding: it answers 7, raises an event, and refuses parameters.
void method_dummy(const MethodContext& context, Session& session,
                  const protocol::Message& message) {
  if (message.param_count > 0)
    return answer_error(session, message.msgid, {ErrorCode::DUMMY, "dummy takes no parameters"});
  if (context.events != nullptr)
    context.events->raise({EventKind::dummy, "a dummy was called", {}});
  protocol::begin_result(session.out, message.msgid);
  Packer(session.out).pack(std::int64_t{7});
}

}  // namespace seqd
"""

METHOD_TEST = """#include "tests/unit/service.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("DummyAnswersSevenAndTakesNoParameters") {
  Service service;
  CHECK(service.ask(request("dummy", 0, "")).id() == 7);
  CHECK(service.code(request("dummy", "orders")) == ErrorCode::DUMMY);
}

}  // namespace
}  // namespace seqd
"""

STORE = """// DummyStore: the dummy of tests/adding, a store that passes every call on to another one.
#pragma once

#include <memory>
#include <utility>

#include "daemon/store/blocking_store.h"

namespace seqd {

class DummyStore final : public BlockingStore {
 public:
  explicit DummyStore(std::unique_ptr<BlockingStore> store) : store_(std::move(store)) {}
  LeaseMode lease_mode() const override { return store_->lease_mode(); }
  StorePlace place() const override { return store_->place(); }
  Result<Token> identify(const Token& candidate) override { return store_->identify(candidate); }
  LeaseOutcome lease(const LeaseRequest& request) override { return store_->lease(request); }
  Resolution resolve(const LeaseRequest& request) override { return store_->resolve(request); }
  Result<ClaimOutcome> claim(const ClaimRequest& request) override {
    return store_->claim(request);
  }
  Result<BeatOutcome> beat(const BeatRequest& request) override { return store_->beat(request); }
  Result<CounterReading> read(const ReadRequest& request) override { return store_->read(request); }
  Result<std::int64_t> advance(const AdvanceRequest& request) override {
    return store_->advance(request);
  }
  ReturnOutcome return_range(const ReturnRequest& request) override {
    return store_->return_range(request);
  }
  Result<InstanceRecords> forget(const ForgetRequest& request) override {
    return store_->forget(request);
  }
  Result<CounterPage> find_counters(const CounterQuery& query) override {
    return store_->find_counters(query);
  }
  std::vector<RemovalOutcome> remove_counters(const CounterRemoval& removal) override {
    return store_->remove_counters(removal);
  }
  int concurrency() const override { return 1; }

 private:
  const std::unique_ptr<BlockingStore> store_;
};

}  // namespace seqd
"""

STORE_FIXTURE = """class DummyFixture : public SqliteFixture {
 public:
  std::unique_ptr<BlockingStore> open() {
    return std::make_unique<DummyStore>(SqliteFixture::open());
  }
};

"""

OPEN_STORE = """    case StoreType::dummy: {
      Result<std::unique_ptr<SqliteStore>> file = SqliteStore::open({.path = settings.path});
      if (!file.ok()) return file.status();
      return std::shared_ptr<BlockingStore>(std::make_shared<DummyStore>(std::move(*file)));
    }
"""

DUMMIES = [
    Dummy(
        "A method",
        [
            Edit("daemon/rpc/methods.def", "METHOD(dummy, connect, brief)\n", "METHOD(rights, connect, page)\n"),
            Edit("daemon/rpc/methods/dummy_method.cc", METHOD_SOURCE),
            Edit("daemon/rpc/methods/dummy_method_test.cc", METHOD_TEST),
            Edit("protocol/PROTOCOL.md", "### `dummy` `[]` -> integer\n\nErrors: DUMMY.\n\n", "## 11. Status and administration\n\n"),
        ],
    ),
    Dummy(
        "An option",
        [
            Edit(
                "daemon/main/config/options/options.def",
                'OPTION(daemon, dummy, dummy, integer, "7", 0, 100, "", live, advanced, "a number without a use")\n\n',
                '"the store of sequences that name none; \\"default\\", or the only store, when empty")\n',
            ),
            Edit("daemon/main/config/config_settings.h", "  std::int64_t dummy = 0;\n", "  std::string default_store;    // never empty once loaded\n"),
        ],
    ),
    Dummy(
        "A store",
        [
            Edit("daemon/store/dummy/dummy_store.h", STORE),
            Edit("tests/adapters/store_fixtures.h", '#include "daemon/store/dummy/dummy_store.h"\n', '#include "daemon/store/blocking_store.h"\n'),
            Edit("tests/adapters/store_fixtures.h", STORE_FIXTURE, "  ScratchDirectory directory_;\n};\n\n"),
            Edit("tests/adapters/store_contract.h", "testing::DummyFixture, ", "testing::DynamoFixture, "),
            Edit("daemon/main/config/config_settings.h", ", dummy", "{ sqlite, mongodb, dynamodb"),
            Edit("daemon/main/config/config_stores.cc", ', "dummy"', '{"sqlite", "mongodb", "dynamodb"'),
            Edit("daemon/main/config/config_stores.cc", ", StoreType::dummy", "kSqlite(StoreType::sqlite"),
            Edit("daemon/main/config/options/options.def", "|dummy", '"sqlite|mongodb|dynamodb'),
            Edit("daemon/main/stores.cc", '#include "daemon/store/dummy/dummy_store.h"\n', '#include "daemon/os/shared_segments.h"\n'),
            Edit("daemon/main/stores.cc", OPEN_STORE, "      return open_sqlite(settings);\n"),
            Edit("daemon/main/modules/store_modules.cc", "    case StoreType::dummy:\n", "    case StoreType::sqlite:\n"),
            Edit("daemon/main/config/config_dump.cc", "    case StoreType::dummy:\n", "    case StoreType::sqlite:\n"),
            Edit("daemon/main/store_warnings.cc", "    case StoreType::dummy:\n", "    case StoreType::sqlite:\n"),
        ],
    ),
    Dummy(
        "An event of the journal",
        [
            Edit(
                "daemon/base/events.def",
                'X(dummy, "2c7d1c6b0f6a4a4c9a0c2be1c0a7dfff", 5, "A dummy was called. There is nothing to do.")\n',
                '"The configuration was read again and applied.")\n',
            )
        ],
    ),
    Dummy(
        "An error",
        [
            Edit("protocol/errors.def", 'X(DUMMY, caller, never, "a dummy was called with parameters")\n', "is closed, and gets no more numbers\")\n"),
            Edit("client-lib/seqd_codes.h", "  SEQD_E_DUMMY = -27,\n", "  SEQD_E_SEQ_PERIOD_CLOSED = -26,\n"),
            Edit("protocol/PROTOCOL.md", "| `DUMMY` | 1 | never | a dummy was called with parameters |\n", "is closed, and gets no more numbers |\n"),
            Edit("packaging/man/libseqd.3.scd", ", *DUMMY*", "*KEY_CONFIRMED*, *SEQ_PERIOD_CLOSED*"),
            Edit(
                "client-lib/python/src/seqd/errors.py",
                'class Dummy(DaemonError):\n    """A dummy was called with parameters."""\n\n    code, fault = "DUMMY", 1\n\n\n',
                '    code, fault = "SEQ_PERIOD_CLOSED", 1\n\n\n',
            ),
            Edit("client-lib/node/lib/errors.js", " DUMMY: false,", "SEQ_PERIOD_CLOSED: false,"),
            Edit(
                "client-lib/go/errors.go",
                '\tErrDummy           Code = "DUMMY"            // a dummy was called with parameters\n',
                "// the period of the register gets no more numbers\n",
            ),
            Edit("client-lib/go/errors.go", ", ErrDummy", "ErrKeyConfirmed, ErrPeriodClosed"),
        ],
    ),
    Dummy(
        "A call of libseqd",
        [
            Edit("client-lib/seqd.h", "SEQD_API int seqd_dummy(seqd_client* client);\n", "SEQD_API int seqd_ping(seqd_client* client);\n"),
            Edit(
                "client-lib/c_api.cc",
                "int seqd_dummy(seqd_client* client) {\n  return guarded(client, [&](auto& engine) {\n    Answer answer;\n"
                '    return call_method(engine, "dummy", kEmptyArray, answer);\n  });\n}\n\n',
                'call_method(engine, "ping", kEmptyArray, answer);\n  });\n}\n\n',
            ),
            Edit("client-lib/libseqd.map", "SEQD_6 {\n  global:\n    seqd_dummy;\n} SEQD_5;\n", "} SEQD_4;\n"),
            Edit("packaging/debian/libseqd0.symbols", " seqd_dummy@SEQD_6 0.2.0~\n", " seqd_descriptor@SEQD_3 0.2.0~\n"),
            Edit(
                "client-lib/seqd.hpp",
                "  Result<bool> dummy() { return result(seqd_dummy(handle_), true); }\n",
                "  Result<bool> ping() { return result(seqd_ping(handle_), true); }\n",
            ),
            Edit("packaging/man/libseqd.3.scd", "*int seqd_dummy(seqd_client \\*client);*++\n", "*int seqd_ping(seqd_client \\*client);*++\n"),
        ],
    ),
]

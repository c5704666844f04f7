"""A reload while the system's database of users hangs, as that of a directory service in the network does."""

import os
import subprocess

import pytest

from rpc import RpcError
from servers.patience import PROGRAM_SECONDS

# getpwnam_r() that waits until the pipe GATE is opened for writing; then everybody is user 4242.
HANGING_USERS = """
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size, struct passwd **found) {
  (void)name, (void)buffer, (void)size;
  close(open(getenv("GATE"), O_RDONLY));
  memset(entry, 0, sizeof(*entry));
  entry->pw_uid = 4242;
  *found = entry;
  return 0;
}
"""


class Gate:
    """A reload of a configuration that names a user waits at it."""

    def __init__(self, make_daemon, scratch):
        self.path = scratch / "gate"
        os.mkfifo(self.path)
        library = scratch / "users.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=HANGING_USERS, text=True, check=True,
                       timeout=PROGRAM_SECONDS)
        self.daemon = make_daemon(limits={"max_count": 10}, environment={"LD_PRELOAD": str(library), "GATE": str(self.path)}).start()
        self.daemon.configure(daemon={"admins": ["shopkeeper"]}, limits={"max_count": 20})

    def open(self) -> None:
        os.close(os.open(self.path, os.O_WRONLY))


@pytest.fixture(name="gate")
def a_gate(make_daemon, scratch):
    return Gate(make_daemon, scratch)


def test_WhileAReloadWaitsForTheUsersEverythingElseGoesOn(gate):
    with gate.daemon.connect() as asker, gate.daemon.connect() as client:
        first = asker.request("reload")
        gate.daemon.wait_notification("RELOADING=1")
        assert client.many("orders", 100) == list(range(1, 101))
        gate.daemon.wait_notification("WATCHDOG=1")
        second = client.request("reload")  # begins when the first one has ended
        assert client.error("range", "orders", 11).code == "TOO_LARGE"
        gate.open()
        applied = asker.result(first)
        assert "limits.max_count" in applied["applied"] and "daemon.admins" in applied["applied"]
        assert client.call("range", "orders", 11) == [[101, 11, 1]]
        gate.open()
        assert client.result(second) == {"applied": [], "restart_needed": []}


def test_ADaemonStopsWhileAReloadWaitsForTheUsers(gate):
    with gate.daemon.connect() as asker:
        request = asker.request("reload")
        gate.daemon.wait_notification("RELOADING=1")
        assert asker.next("orders") == 1
        gate.daemon.terminate()
        with pytest.raises(RpcError) as refused:
            asker.result(request)
        assert refused.value.code == "STOPPING"
    gate.daemon.configure()
    gate.daemon.start()
    with gate.daemon.connect() as client:
        assert client.next("orders") == 2


def test_ATableThatComesBackByAReloadContinuesWithItsRemainder(make_daemon):
    # Else the name would be a sequence of [sequence_defaults].
    tables = {"orders": {"max_value": 1000}, "invoices": {}}
    daemon = make_daemon(daemon={"allow_unlisted": False}, sequences=tables).start()
    with daemon.connect() as client:
        assert [client.next("orders") for _ in range(3)] == [1, 2, 3]
    daemon.configure(daemon={"allow_unlisted": False}, sequences={"invoices": {}})
    daemon.restart()
    with daemon.connect() as client:
        assert client.error("next", "orders").code == "NO_SEQUENCE"
        daemon.configure(daemon={"allow_unlisted": False}, sequences=tables)
        assert client.call("reload") == {"applied": ['sequence."orders"'], "restart_needed": []}
        assert [client.next("orders") for _ in range(20)] == list(range(4, 24))
    daemon.restart()
    with daemon.connect() as client:
        assert client.next("orders") == 24
    daemon.seqctl("audit", "orders")

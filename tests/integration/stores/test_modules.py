"""The drivers of stores in the network are modules: who has no such store does without, and one that cannot be used costs nothing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import harness
from disks import NotShown
from servers.dynamodb_local import dynamodb

MODULES = harness.SEQD.parent / "modules"
CONFIG = 78
# What the drivers bring; libcrypto is also that of readable IDs.
DRIVERS = re.compile(r"mongodb\.so|dynamodb\.so|lib(mongoc|bson|mongocrypt|sasl2|icu\w*|curl|ssl|gnutls|krb5)\b")


def drivers_of(daemon) -> set:
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    return {found.group(0) for found in DRIVERS.finditer(maps)}


def other_build(content: bytes) -> bytes:
    """As one of the same size that is of another version."""
    found = re.search(rb"\d+(?=\.\d+\.\d+ [0-9a-f]{16}\0)", content)
    assert found, "the module does not name its build"
    return content[:found.end() - 1] + b"9" + content[found.end():]


class Installed:
    """A seqd of the test's own, with its modules where `make install` puts them."""

    def __init__(self, place: Path, module: str):
        self.program = place / "sbin" / "seqd"
        self.module = place / "lib" / "seqd" / f"{module}.so"
        self.good = (MODULES / f"{module}.so").read_bytes()
        self.program.parent.mkdir(parents=True)
        self.module.parent.mkdir(parents=True)
        shutil.copy2(harness.SEQD, self.program)
        self.put(self.good)

    def put(self, content: bytes) -> None:
        self.remove()
        self.module.write_bytes(content)
        self.module.chmod(0o644)

    def remove(self) -> None:
        if self.module.is_dir() and not self.module.is_symlink():
            self.module.rmdir()
        self.module.unlink(missing_ok=True)

    def faults(self, module: str) -> dict:
        """What may be wrong with the file: how it comes about, and what the daemon says of it."""
        other = MODULES / ("dynamodb.so" if module == "mongodb" else "mongodb.so")
        again = f"install both again, in one version: apt install --reinstall seqd seqd-{module}"
        return {
            "missing": (self.remove, f"{self.module}; apt install seqd-{module}"),
            "closed": (lambda: (self.remove(), self.module.symlink_to(self.module)), f"cannot be opened: Too many levels.*{again}"),
            "directory": (lambda: (self.remove(), self.module.mkdir()), f"is not a regular file; {again}"),
            "pipe": (lambda: (self.remove(), os.mkfifo(self.module)), f"is not a regular file; {again}"),
            "for all": (lambda: self.module.chmod(0o666), f"may be of another user: .*{again}"),
            "of another machine": (lambda: self.put(self.good[:18] + b"\xb7\0" + self.good[20:]), f"cannot be loaded: .*; {again}"),
            "empty": (lambda: self.put(b""), f"cannot be loaded: .*; {again}"),
            "text": (lambda: self.put(b"#!/bin/sh\n" * 9_000), f"cannot be loaded: .*; {again}"),
            "cut": (lambda: self.put(self.good[:200_000]), f"is cut short; {again}"),
            "foreign": (lambda: self.put((MODULES.parent / "libseqd.so").read_bytes()), f"is not a module of seqd; {again}"),
            "other build": (lambda: self.put(other_build(self.good)), rf"is of another build \(9.*, this seqd is \d.*; {again}"),
            "another module": (lambda: self.put(other.read_bytes()), f"is another module: .*undefined symbol: seqd_{module}_module.*; {again}"),
        }


def test_ADaemonWithTheEmbeddedStoreHasNoDriverInMemory(daemon):
    with daemon.connect() as client:
        assert client.next() == 1
    assert drivers_of(daemon) == set()


def check_faults(daemon, installed: Installed, module: str) -> None:
    """With no module the daemon does not start, and with the module back it continues where it was."""
    daemon.program = installed.program
    with daemon.start().connect() as client:
        assert client.many("orders", 5) == [1, 2, 3, 4, 5]
        assert client.call("peek", "orders")["available"] > 0
    assert f"{module}.so" in drivers_of(daemon)
    issued = 5
    for name, (happen, said) in installed.faults(module).items():
        daemon.terminate()
        happen()
        before = len(daemon.stderr(-1))
        with pytest.raises(harness.Died) as died:
            daemon.start()
        text = daemon.stderr(-1)[before:]
        assert died.value.code == CONFIG, name
        assert re.search(rf'CONFIG: store "default": module {module}: .*{said}', text), f"{name}: {text}"
        code, printed = check(installed, daemon)
        assert code == CONFIG and re.search(rf'^store "default": module {module}: .*{said}', printed, re.M), f"{name}: {code}, {printed}"
        installed.put(installed.good)
        with daemon.start().connect() as client:
            assert client.next() == issued + 1, name
        issued += 1


def check(installed: Installed, daemon) -> tuple:
    done = subprocess.run([installed.program, "--check", "--config", daemon.config_file], capture_output=True, text=True,
                          env={**os.environ, **daemon.environment}, timeout=30, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.limit(90)
def test_WithoutItsModuleAMongodbStoreIsRefusedAndNothingIsLost(mongo, make_daemon, scratch):
    installed = Installed(scratch / "usr", "mongodb")
    mongo.client().drop_database("modules")
    daemon = make_daemon(stores={"default": {"type": "mongodb", "uri": mongo.uri(), "database": "modules"}})
    check_faults(daemon, installed, "mongodb")
    assert not any(name.startswith("libcurl") or name == "dynamodb.so" for name in drivers_of(daemon))


@pytest.mark.limit(90)
def test_WithoutItsModuleADynamodbStoreIsRefusedAndNothingIsLost(make_daemon, scratch):
    installed = Installed(scratch / "usr", "dynamodb")
    with dynamodb() as server:
        caller = server.caller("modules")
        caller.create_table("NextId", "NextKey")
        daemon = make_daemon(
            stores={"default": {"type": "dynamodb", "region": "us-east-1", "endpoint": server.endpoint(), "instances_table": "NextId",
                                "instances_key": "NextKey"}},
            sequences={"orders": {"collection": "NextId", "key_field": "NextKey", "counter_field": "NextId"}},
            environment={"AWS_ACCESS_KEY_ID": "modules", "AWS_SECRET_ACCESS_KEY": "any"})
        check_faults(daemon, installed, "dynamodb")
        caller.close()
    assert not any(name.startswith(("libmongoc", "libbson")) or name == "mongodb.so" for name in drivers_of(daemon))


def test_AModuleOfAnotherUserBesideTheProgramIsNotRun(make_daemon, scratch):
    """Root's copy of seqd in a directory where all may write, as /tmp is."""
    if os.getuid() != 0:
        raise NotShown("only root gives files away")
    place = scratch / "open"
    (place / "modules").mkdir(parents=True)
    place.chmod(0o1777)
    shutil.copy2(harness.SEQD, place / "seqd")
    module = place / "modules" / "mongodb.so"
    module.write_bytes((MODULES / "mongodb.so").read_bytes())
    for path in (module, module.parent):
        os.chown(path, 65534, 65534)
    daemon = make_daemon(stores={"default": {"type": "mongodb", "uri": "mongodb://127.0.0.1:9", "database": "none"}})
    daemon.program = place / "seqd"
    with pytest.raises(harness.Died) as died:
        daemon.start()
    assert died.value.code == CONFIG
    assert f"{module} may be of another user: " in daemon.stderr(-1)


def test_AReloadWithAStoreWhoseModuleIsMissingIsRefused(make_daemon, scratch):
    installed = Installed(scratch / "usr", "mongodb")
    installed.remove()
    daemon = make_daemon()
    daemon.program = installed.program
    before = daemon.start().config_file.read_text()
    with daemon.connect() as client:
        assert client.next() == 1
    daemon.config_file.write_text(before + '\n[store.other]\ntype = "mongodb"\nuri = "mongodb://127.0.0.1:9"\n')
    said = daemon.seqctl("reload", expect=None)
    assert said.returncode != 0
    assert re.search(r'store "other": module mongodb: it is not installed; .*apt install seqd-mongodb', said.stderr)
    assert "reload_failed" in daemon.stderr(-1)
    installed.put(installed.good)
    assert "store.other" in daemon.seqctl("reload").stdout
    with daemon.connect() as client:
        assert client.next() == 2


def test_TheVersionNamesTheModulesAndLoadsNone(scratch):
    installed = Installed(scratch / "usr", "mongodb")
    done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat,mmap", "-o", scratch / "calls", installed.program, "--version"],
                          capture_output=True, text=True, timeout=30, check=True)
    first, mongodb, dynamo = done.stdout.splitlines()
    assert re.fullmatch(r"seqd \d+\.\d+\.\d+", first)
    assert mongodb == f"module mongodb: {installed.module}"
    assert dynamo.startswith("module dynamodb: it is not installed; looked for ") and dynamo.endswith("; apt install seqd-dynamodb")
    calls = (scratch / "calls").read_text()
    assert str(installed.module) in calls and "libmongoc" not in calls
    # Beside the program it has precedence, as in a tree where it was built.
    beside = installed.program.parent / "modules"
    (beside / "mongodb.so").mkdir(parents=True)
    done = subprocess.run([installed.program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines()[1].startswith(f"module mongodb: {beside}/mongodb.so is not a regular file; ")

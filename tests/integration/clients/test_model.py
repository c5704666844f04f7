"""The scripts of tests/clients/model.json, carried out by libseqd: what a program in C may see, whatever the daemon does. Its requests are
those of a pipeline, which one thread submits and polls for."""

import ctypes
import sys
import threading

import msgpack
import pytest

from harness import BUILD, PROJECT
from servers.mongod import wait_for

sys.path.insert(0, str(PROJECT / "tests" / "clients"))

# pylint: disable=wrong-import-position
from carrying import LONG, NAMES, SCRIPTS, carry_out, filled  # noqa: E402


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("socket_path", ctypes.c_char_p), ("name", ctypes.c_char_p), ("timeout_ms", ctypes.c_int64),
                ("connect_timeout_ms", ctypes.c_int64), ("flags", ctypes.c_uint64), ("busy_poll_us", ctypes.c_int64)]


class Run(ctypes.Structure):
    _fields_ = [("first", ctypes.c_int64), ("count", ctypes.c_int64), ("step", ctypes.c_int64)]


class Reply(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_void_p), ("code", ctypes.c_int), ("text", ctypes.c_char_p), ("id", ctypes.c_int64),
                ("runs", ctypes.POINTER(Run)), ("run_count", ctypes.c_size_t)]


class Pipeline:
    """A handle of libseqd and the thread that polls it."""

    can = set()

    def __init__(self, path, timeouts):
        self.library = ctypes.CDLL(str(BUILD / "libseqd.so"))
        self.library.seqd_error_name.restype = ctypes.c_char_p
        (timeout,) = timeouts.values() or (LONG,)
        options = Options(ctypes.sizeof(Options), path.encode(), b"model", int(timeout * 1000), 0, 0, 0)
        self.handle = ctypes.c_void_p()
        assert self.library.seqd_open(ctypes.byref(options), ctypes.byref(self.handle)) == 0
        self.lock = threading.Lock()
        self.calls = []
        self.outcomes = {}
        self.ending = False
        self.thread = threading.Thread(target=self.poll)
        self.thread.start()

    def start(self, name, method, *parameters):
        first, *rest = [filled(one) for one in parameters]
        arguments = [first.encode()]
        if method == "range":
            arguments.append(ctypes.c_int64(*rest))
        if method.startswith("insert"):
            document = msgpack.packb(rest[0])
            arguments += [document, ctypes.c_size_t(len(document)), *(field.encode() for field in rest[1:])]
        with self.lock:
            self.calls.append(name)
            submit = getattr(self.library, f"seqd_submit_{method}")
            assert submit(self.handle, *arguments, ctypes.c_void_p(len(self.calls))) == 0

    def poll(self):
        replies = (Reply * 16)()
        used = ctypes.c_size_t()
        while not self.ending:
            with self.lock:
                code = self.library.seqd_poll(self.handle, ctypes.c_int64(10), replies, ctypes.c_size_t(ctypes.sizeof(Reply)),
                                              ctypes.c_size_t(len(replies)), ctypes.byref(used))
                assert code == 0
                for reply in replies[:used.value]:
                    self.outcomes[self.calls[reply.tag - 1]] = self.outcome_of(reply)

    def outcome_of(self, reply):
        if reply.code != 0:
            return f"error {self.library.seqd_error_name(reply.code).decode()}"
        if reply.text:
            return f"text {reply.text.decode()}"
        ids = [run.first + at * run.step for run in reply.runs[:reply.run_count] for at in range(run.count)]
        return f"id {reply.id}" if len(ids) == 1 else "ids " + ",".join(map(str, ids))

    def wait_for(self, name):
        wait_for(f"the call {name}", lambda: name in self.outcomes)

    def end(self):
        self.ending = True
        self.thread.join(LONG)
        self.library.seqd_close(self.handle)


@pytest.mark.limit(60)
@pytest.mark.parametrize("script", [script for script in SCRIPTS if not script.get("needs")],
                         ids=[name for name, script in zip(NAMES, SCRIPTS) if not script.get("needs")])
def test_AProgramInCSeesWhatTheModelAllows(script):
    assert carry_out(script, Pipeline)

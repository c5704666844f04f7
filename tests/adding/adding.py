"""Follows the lists in "Adding things" of daemon/doc/HACKING.md with a dummy of each kind (dummies.py), in a copy of the tree, and looks
whether anything is missing there: the copy is built, the lints that compare are run, and the dummies are used.

usage: adding.py DIRECTORY    for the copy; what is in it is reused
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgpack

from dummies import DUMMIES

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
#include <seqd.hpp>
#include <cstdio>
int main(int, char** argv) {
  seqd_options options = SEQD_OPTIONS_INIT;
  options.socket_path = argv[1];
  seqd_client* client = nullptr;
  if (seqd_open(&options, &client) != SEQD_OK) return 1;
  const int code = seqd_dummy(client);
  std::printf("%d %s", code, seqd_error_name(SEQD_E_DUMMY));
  seqd_close(client);
}
"""


def paragraphs():
    """The lists, by how they begin."""
    text = (ROOT / "daemon/doc/HACKING.md").read_text()
    text = text[text.index("## Adding things") :]
    return dict(re.findall(r"^\*\*(.+?)\*\*:? (.+?)(?:\n\n|\Z)", text, re.M | re.S))


def copy_tree(to):
    """What git has; a file that is as it was keeps its time, so that little is built again."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, files):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    # What lies in build/ is ignored by the repository around it, and the checks ask git for the files.
    subprocess.run(["git", "init", "-q"], cwd=to, check=True)


def is_listed(path, paragraph):
    """Whether a list names the file, or the folder of a new one, or says where a new folder is."""
    paragraph = " ".join(paragraph.split())
    parent = Path(path).parent
    return any(word in paragraph for word in (path, Path(path).name, str(parent), f"a folder of {parent.parent}"))


def apply(tree, dummy, paragraph):
    for edit in dummy.edits:
        assert is_listed(edit.path, paragraph), f"HACKING.md, {dummy.kind}: does not name {edit.path}"
        path = tree / edit.path
        if not edit.behind:
            path.parent.mkdir(exist_ok=True)
            path.write_text(edit.text)
            continue
        before, found, after = path.read_text().partition(edit.behind)
        assert found, f"{edit.path} does not have {edit.behind!r} any more: say in dummies.py where its dummy goes"
        path.write_text(before + found + edit.text + after)


def make(tree, *targets):
    subprocess.run(["make", "-s", *targets], cwd=tree, check=True)


def use(tree):
    with tempfile.TemporaryDirectory() as scratch:
        socket = f"{scratch}/s"
        config = Path(scratch) / "seqd.toml"
        config.write_text(
            f'[daemon]\nsocket = "{socket}"\nstate_dir = "{scratch}/state"\nwitness_dir = "{scratch}/witness"\ndummy = 9\n'
            f'[store.one]\ntype = "dummy"\npath = "{scratch}/dummy.db"\n'
        )
        Path(scratch, "witness").mkdir()
        said = Path(scratch) / "said"
        with said.open("w") as out, subprocess.Popen([tree / "build/seqd", "--config", config], stderr=out, stdout=out) as daemon:
            try:
                use_daemon(tree, socket, scratch)
            finally:
                daemon.terminate()
                daemon.wait()
                text = said.read_text()
        assert "a dummy was called" in text, text


def use_daemon(tree, socket, scratch):
    import socket as sockets

    def call(method, *params):
        with sockets.socket(sockets.AF_UNIX) as stream:
            stream.connect(socket)
            stream.sendall(msgpack.packb([0, 1, method, params]))
            return msgpack.Unpacker(stream.makefile("rb", 0)).unpack()[2:]

    deadline = time.monotonic() + 20
    while not Path(socket).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert call("dummy") == [None, 7]
    assert [call("next", "orders"), call("next", "orders")] == [[None, 1], [None, 2]]
    fault, text = call("dummy", 1)[0]
    assert (fault, text.split(":")[0]) == (1, "DUMMY"), text
    options = [option for table in call("config")[1]["tables"] for option in table["options"]]
    assert [option["value"] for option in options if option["key"] == "dummy"] == ["9"], options
    program = Path(scratch) / "program"
    Path(scratch, "program.cc").write_text(PROGRAM)
    library = tree / "build"
    subprocess.run(
        ["g++", "-std=c++20", f"-I{tree}/client-lib", f"{scratch}/program.cc", f"{library}/libseqd.so", f"-Wl,-rpath,{library}", "-o", program], check=True
    )
    printed = subprocess.run([program, socket], capture_output=True, text=True, check=True).stdout
    assert printed == "0 DUMMY", printed


def main(directory):
    tree = Path(directory)
    copy_tree(tree)
    lists = paragraphs()
    for dummy in DUMMIES:
        apply(tree, dummy, lists[dummy.kind])
    make(tree, "all")
    make(tree, "sample", "catalog")
    make(tree, "build/unit-tests", "build/adapter-tests")
    make(tree, "lint-documentation", "lint-generated", "lint-format")
    subprocess.run([tree / "build/unit-tests", "*ummy*,*onformance*,*Method*"], cwd=tree, check=True)
    ran = subprocess.run([tree / "build/adapter-tests", "*DummyFixture"], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert "All tests passed" in ran, ran
    use(tree)
    print(f"adding: {len(DUMMIES)} dummies, nothing is missing in the lists")


if __name__ == "__main__":
    main(*sys.argv[1:])

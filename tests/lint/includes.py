"""Includes go downward only: the layers of the daemon, the floors of its core, the client library, and the one place of each
foreign API.

    protocol < daemon/base < daemon/core < daemon/rpc < daemon/{uv,store,state,os} < daemon/main
"""

import posixpath
import re

import tree as project

# What a folder may include of ours, besides itself. The adapters lie side by side: none includes another.
LAYERS = {
    "protocol": [],
    "daemon/base": [],
    "daemon/core": ["daemon/base"],
    "daemon/rpc": ["protocol", "daemon/base", "daemon/core"],
    "daemon/uv": ["protocol", "daemon/base", "daemon/core", "daemon/rpc"],
    "daemon/store": ["protocol", "daemon/base", "daemon/core"],  # documents come as MessagePack
    "daemon/state": ["daemon/base", "daemon/core"],
    "daemon/os": ["protocol", "daemon/base", "daemon/core"],  # pages of blocks
    "daemon/main": ["protocol", "daemon/"],
    "client-lib": ["protocol"],
    "tests": ["protocol", "daemon/", "client-lib", "tests"],
}
# What all layers share: the error catalogue, and what UTF-8 is.
FOR_ALL = ("protocol/errors.h", "protocol/errors.def", "protocol/text/utf8.h")

# The floors of daemon/core, from below, and the rooms of each. A room includes itself and rooms of lower floors; rooms of one floor
# lie side by side. What is in no room is above all of them. Tests beside the code work on the whole core (tests/unit/world.h).
CORE = "daemon/core"
FLOORS = (
    ("words",),
    ("text",),
    ("settings", "log"),
    ("context",),
    ("leasing", "ranges", "blocks", "clients", "names", "history", "insert"),
    ("sequence",),
    ("rates", "stores"),
    ("table",),
    ("upkeep", "registers"),
    (".",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The picture of them, where Turn stands for what is in no room.
ARCHITECTURE = "daemon/doc/ARCHITECTURE.md"
PICTURE = re.compile(r"^ ?(\d+)  (\w.*)$", re.MULTILINE)

# The tests beside the code are part of one program each, and share what lies in that program's folder under tests/. Those
# of the adapters may also fetch a neighbour, to work on real parts.
ADAPTERS = ("daemon/uv", "daemon/store", "daemon/os", "daemon/main")
SHARED_BY_TESTS = {True: ("tests/unit/", "tests/adapters/"), False: ("tests/unit/",)}

FOREIGN = [
    (r"uv\.h$|uv/", ["daemon/uv"]),
    (r"mongoc|bson", ["daemon/store"]),
    (r"sqlite3", ["daemon/store"]),
    (r"curl/", ["daemon/uv/http"]),
    (r"systemd/", ["daemon/os"]),
    (r"toml\+\+|toml\.hpp", ["daemon/main"]),
    (r"CLI/", ["daemon/main", "client-lib/seqctl"]),
    (r"openssl/", ["daemon/store"]),
    (r"nettle/", ["daemon/os"]),
    (r"absl/", ["daemon/os"]),
    (r"boost/", ["daemon/uv"]),
    (r"fmt/", ["daemon/uv", "daemon/store", "daemon/os", "daemon/main"]),
    (r"msgpack", ["protocol", "daemon/rpc"]),
    (r"nlohmann/", ["daemon/store", "client-lib/seqctl"]),
]
# Programs for tests and measurements, which may use what they like.
FREE = ("tests/tools/", "tests/fuzz/", "tests/bench/", "tests/adapters/", "tests/seeds/")
# What a test beside the code may use in addition: test vectors are JSON files.
FOR_TESTS = re.compile(r"^(nlohmann/|filesystem$|fstream$)")

# Folders that must work without an operating system: time, files and threads come to them through daemon/base.
PURE = ("protocol", "daemon/base", "daemon/core", "daemon/rpc", "daemon/state", "tests/unit")
OPERATING_SYSTEM = re.compile(
    r"^(sys/|netinet/|arpa/|linux/|net/|(unistd|fcntl|pthread|signal|poll|dirent|netdb|sched|pwd|grp|dlfcn)\.h$)"
    r"|^(csignal|fstream|filesystem|thread|mutex|condition_variable|future)$")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def folder_of(name):
    candidates = [folder for folder in LAYERS if name.startswith(folder + "/")]
    return max(candidates, key=len) if candidates else None


def room_of(name):
    return posixpath.relpath(posixpath.dirname(name), CORE)


def floor_complaint(name, included):
    """Both are of the core."""
    room, target = room_of(name), room_of(included)
    if name.endswith("_test.cc") or target == room:
        return None
    for one in (room, target):
        if one not in FLOOR_OF:
            return f"{CORE}/{one} has no floor"
    if FLOOR_OF[target] < FLOOR_OF[room]:
        return None
    return f"{room} must not know {target}, which lies {'beside' if FLOOR_OF[target] == FLOOR_OF[room] else 'above'} it"


def our_complaint(name, folder, included):
    target = folder_of(included)
    if target is None:
        return None if "/" not in included and folder in ("client-lib", "tests") else "is not found from the root"
    if target == folder == CORE:
        return floor_complaint(name, included)
    if target == folder or included in FOR_ALL:
        return None
    if name.endswith("_test.cc"):
        is_adapter = folder in ADAPTERS or folder == "client-lib"
        if included.startswith(SHARED_BY_TESTS[is_adapter]):
            return None
        if folder in ADAPTERS and target.startswith("daemon/"):
            return None
    if any(included.startswith(allowed) for allowed in LAYERS[folder]):
        return None
    return f"{folder} must not know {target}"


def foreign_complaint(name, folder, included):
    if name.startswith(FREE) or (project.is_test(name) and FOR_TESTS.match(included)):
        return None
    if name.startswith(PURE) and OPERATING_SYSTEM.search(included):
        return f"{folder} must not use the operating system directly"
    for pattern, allowed in FOREIGN:
        if re.match(pattern, included) and not name.startswith(tuple(allowed)):
            return f"is for {', '.join(allowed)} only"
    if included.startswith(("catch2/", "rapidcheck")) and not project.is_test(name):
        return "is for tests only"
    return None


def picture_complaints(tree):
    if not (tree.root / ARCHITECTURE).is_file():
        return []
    drawn = [(int(floor), tuple(rooms.split())) for floor, rooms in PICTURE.findall(tree.text(ARCHITECTURE))]
    wanted = [(floor, tuple(room.replace(".", "Turn") for room in rooms)) for floor, rooms in enumerate(FLOORS, 1)]
    return [] if drawn[::-1] == wanted else [f"{ARCHITECTURE}: the picture of the floors of core is not that of tests/lint/includes.py"]


def check(tree):
    complaints = picture_complaints(tree)
    for name in tree.sources():
        folder = folder_of(name)
        if folder is None:
            continue
        for number, line in enumerate(tree.lines(name), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            ours, foreign = match.groups()
            if ours is not None and re.match(r"toml|msgpack|CLI/|fmt/", ours):
                ours, foreign = None, ours
            why = our_complaint(name, folder, ours) if ours is not None else foreign_complaint(name, folder, foreign)
            if why:
                complaints.append(f"{name}:{number}: {ours or foreign}: {why}")
    return complaints


if __name__ == "__main__":
    project.main(check, "includes")

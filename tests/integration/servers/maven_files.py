"""Files that Maven fetches once, as pom.xml of a recipe's folder says; each is verified by SHA256SUMS beside it before any is used."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from .mongod_binary import ServerNotAvailable
except ImportError:  # run as a script
    from mongod_binary import ServerNotAvailable

COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"
FETCH_TRIES = 3
FETCH_SECONDS = 600


def find_maven_files(recipe: Path, folder: Path, what: str, otherwise: str) -> Path:
    """The folder with the files, `lib` in `folder`. Fetches them when there are none; several processes may ask at once.
    `otherwise` says what to do when they cannot be fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "lib"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        if not files.exists():
            print(f"fetching {what}", file=sys.stderr, flush=True)
            _fetch(recipe, files, otherwise)
    return files


def _fetch(recipe: Path, files: Path, otherwise: str) -> None:
    part = Path(tempfile.mkdtemp(prefix="lib-", dir=files.parent))
    command = ["mvn", "-q", "-B", "-f", str(recipe / "pom.xml"), COPY, "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    try:
        for attempt in range(1, FETCH_TRIES + 1):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                  timeout=FETCH_SECONDS)
            if done.returncode == 0:
                break
            if attempt == FETCH_TRIES:
                raise ServerNotAvailable(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{otherwise}")
        _verify(recipe, part)
        part.chmod(0o755)
        part.rename(files)
    except subprocess.TimeoutExpired as error:
        raise ServerNotAvailable(f"mvn did not end within {FETCH_SECONDS} s. {otherwise}") from error
    except OSError as error:
        raise ServerNotAvailable(f"mvn: {error.strerror}; install maven. {otherwise}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _verify(recipe: Path, folder: Path) -> None:
    wanted = dict(reversed(line.split()) for line in (recipe / "SHA256SUMS").read_text(encoding="ascii").splitlines())
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if found != wanted:
        wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise ServerNotAvailable(f"Maven brought other files than SHA256SUMS says: {', '.join(wrong)}")

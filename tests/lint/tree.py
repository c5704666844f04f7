"""The files of the project, for the checks of `make lint`: what git tracks or would track, else what is on the disk."""

import pathlib
import subprocess
import sys

SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".def"}


class Tree:
    """One tree of files. Paths are relative to its root and use forward slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def files(self):
        listed = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            names = [name for name in listed.stdout.split("\0") if name]
        else:
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")]
            names = [name for name in names if not name.startswith(("build/", ".git/"))]
        return sorted(name for name in set(names) if (self.root / name).is_file())

    def sources(self):
        return [name for name in self.files() if pathlib.PurePosixPath(name).suffix in SOURCE_SUFFIXES]

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def lines(self, name):
        return self.text(name).splitlines()

    def is_text(self, name):
        with open(self.root / name, "rb") as file:
            return b"\0" not in file.read(4096)


def is_test(name):
    return name.endswith("_test.cc") or name.startswith("tests/")


def main(check, title):
    """Runs check(tree), prints each complaint and ends with 1 if there is one."""
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else ".")
    complaints = check(tree)
    for complaint in complaints:
        print(complaint)
    print(f"{title}: {len(complaints)} complaints" if complaints else f"{title}: good")
    sys.exit(1 if complaints else 0)

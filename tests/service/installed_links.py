"""Whether each link of the documents in a directory leads to a file that is there, and to a heading of it.
usage: installed_links.py DIRECTORY
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lint"))
import links  # noqa: E402  pylint: disable=wrong-import-position


class Installed:
    """What tests/lint/links.py asks of a tree."""

    def __init__(self, root: pathlib.Path):
        self.root = root

    def text(self, name: str) -> str:
        return (self.root / name).read_text()


def main(root: pathlib.Path) -> int:
    tree = Installed(root)
    documents = sorted(path.name for path in root.glob("*.md"))
    found = [(name, target) for name in documents for target in links.LINK.findall(tree.text(name))]
    complaints = [one for name, target in found if (one := links.link_complaint(tree, name, target))]
    print("\n".join(complaints) or f"{len(found)} links in {len(documents)} documents")
    return 1 if complaints or len(documents) < 8 or len(found) < 20 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))

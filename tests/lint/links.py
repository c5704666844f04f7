"""Links between documents lead somewhere, and a file that a document names is there."""

import pathlib
import posixpath
import re

import tree as project

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
NAMED = re.compile(r"(?<![\w./-])((?:daemon|protocol|client-lib|tests|packaging)/[\w./-]*\w\.(?:h|hpp|cc|c|def|py|md|toml|json|scd|mk|sh|pml|in|service|socket))\b")
# What a document says of the past stays true when a file goes.
PAST = ("CHANGELOG.md",)


def anchor(heading):
    """As the renderers make it of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link_complaint(tree, name, target):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, fragment = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if not (tree.root / file).exists():
        return f"{name}: links to {target}, which is not there"
    if fragment and fragment not in {anchor(one) for one in HEADING.findall(tree.text(file))}:
        return f"{name}: links to {target}, and {file} has no such heading"
    return None


def check(tree):
    complaints = []
    for name in tree.files():
        if pathlib.PurePosixPath(name).suffix != ".md":
            continue
        text = tree.text(name)
        complaints += [one for target in LINK.findall(text) if (one := link_complaint(tree, name, target))]
        if name not in PAST:
            complaints += [f"{name}: names {file}, which is not there"
                           for file in sorted(set(NAMED.findall(LINK.sub("", text)))) if not (tree.root / file).exists()]
    return complaints


if __name__ == "__main__":
    project.main(check, "links")

"""What the programs can do and what is written about it stay in step, in both directions where that can be seen.

usage: documentation.py SEQD SEQCTL [ROOT]    the two programs, as built
"""

import re
import subprocess
import sys

import tree as project

ERROR = re.compile(r"^X\(([A-Z_]+),", re.M)
EVENT = re.compile(r'^X\(([a-z_]+), "([0-9a-f]{32})"', re.M)
OPTION = re.compile(r"^OPTION\((\w+), (\w+),", re.M)
MAN = "packaging/man/"
COMPLETION = "packaging/completion/seqctl."
SHELLS = ("bash", "zsh", "fish")
CONTAINERS = "packaging/containers/"
CLIENT_VERSIONS = {
    "client-lib/node/package.json": r'^  "version": "(.+)"',
    "client-lib/python/pyproject.toml": r'^version = "(.+)"',
    "client-lib/python/src/seqd/__init__.py": r'^__version__ = "(.+)"',
}
WITH_VERSION = (CONTAINERS + "Containerfile", CONTAINERS + "sidecar.yaml", CONTAINERS + "daemonset.yaml", "daemon/doc/CONTAINERS.md")


def has_word(text, word):
    # scdoc writes an underscore in running text as \_.
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text.replace("\\_", "_")) is not None


class Documentation:
    def __init__(self, tree, seqd):
        self.tree = tree
        self.seqd = seqd
        self.complaints = []

    def text(self, name):
        if not (self.tree.root / name).is_file():
            self.complaints.append(f"{name}: is missing")
            return ""
        return self.tree.text(name)

    def page(self, name):
        """A file as readers get it: the build puts what the daemon prints in place of these words."""
        text = self.text(name)
        for word, made_by in (("@OPTIONS@", "scdoc"), ("@ERRORS@", "errors")):
            if word in text.splitlines():
                text = text.replace(word, output_of(self.seqd, f"--print-options={made_by}"))
        return text

    def must_name(self, name, words, what):
        text = self.page(name)
        for word in words:
            if text and not has_word(text, word):
                self.complaints.append(f"{name}: says nothing about the {what} {word}")

    def errors(self):
        codes = ERROR.findall(self.text("protocol/errors.def"))
        self.must_name("protocol/PROTOCOL.md", codes, "error")
        pages = {name: self.page(name) for name in self.tree.files() if name.startswith(MAN)}
        for code in codes:
            if not any(has_word(text, code) for text in pages.values()):
                self.complaints.append(f"{MAN}: no page explains the error {code}")

    def options(self):
        options = OPTION.findall(self.text("daemon/main/config/options/options.def"))
        names = sorted({key for _, key in options})
        self.must_name(MAN + "seqd.toml.5.scd", names, "option")
        self.must_name("packaging/seqd.toml", names, "option")
        tables = {"daemon", "limits", "store", "sequence", "sequence_defaults"}
        for number, line in enumerate(self.text("packaging/seqd.toml").splitlines(), 1):
            key = re.match(r"#? ?([a-z_]+) = ", line)
            if key and key.group(1) not in names:
                self.complaints.append(f"packaging/seqd.toml:{number}: there is no option {key.group(1)}")
            table = re.match(r"#? ?\[([a-z_]+)", line)
            if table and table.group(1) not in tables:
                self.complaints.append(f"packaging/seqd.toml:{number}: there is no table {table.group(1)}")

    def events(self, catalogue):
        events = EVENT.findall(self.text("daemon/base/events.def"))
        for name, message_id in events:
            if f"-- {message_id}" not in catalogue:
                self.complaints.append(f"the catalogue has no entry for the event {name}")
        identities = [message_id for _, message_id in events]
        for message_id in sorted({one for one in identities if identities.count(one) > 1}):
            self.complaints.append(f"daemon/base/events.def: the MESSAGE_ID {message_id} stands there twice")

    def exit_codes(self, seqd_help):
        explained = re.findall(r"^\*(\d+)\*$", self.text(MAN + "seqd.8.scd"), re.M)
        listed = re.findall(r"^  (\d+) +\S", seqd_help, re.M)
        if listed != explained or not listed:
            self.complaints.append(f"{MAN}seqd.8.scd: explains the exit codes {', '.join(explained)}, and --help lists {', '.join(listed)}")

    def version(self, said):
        """Where the version is written down besides protocol/version.h."""
        version = said.split()[1]
        changelog = self.text("packaging/debian/changelog")
        if not changelog.startswith(f"seqd ({version}-1) "):
            self.complaints.append(f"packaging/debian/changelog: does not begin with {version}-1")
        for name, pattern in CLIENT_VERSIONS.items():
            if re.findall(pattern, self.text(name), re.M)[:1] != [version]:
                self.complaints.append(f"{name}: is not of version {version}")
        for name in WITH_VERSION:
            found = re.findall(r"\bseqd[ :](\d+\.\d+\.\d+)", self.text(name))
            if not found or set(found) != {version}:
                self.complaints.append(f"{name}: speaks of seqd {', '.join(sorted(set(found))) or '(no version)'}, not of {version}")

    def command_line(self, page, program_help, words):
        text = self.text(page)
        for word in words(program_help):
            if text and not has_word(text, word):
                self.complaints.append(f"{page}: says nothing about {word}, which --help lists")

    def completion(self, name, program_help):
        """Every option of a command; fish writes them without the dashes."""
        text = self.text(name)
        for option in long_options(program_help):
            word = "-l " + option[2:] if name.endswith("fish") else option
            if text and not has_word(text, word):
                self.complaints.append(f"{name}: does not complete {option}")


def long_options(program_help):
    return sorted(set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", program_help)))


def subcommands(program_help):
    """The first words of the lines below CLI11's headings of groups of commands."""
    groups = re.split(r"^([A-Z][A-Za-z ]*):\s*$", program_help, flags=re.M)[1:]
    return [word for heading, lines in zip(groups[::2], groups[1::2]) if heading not in ("Options", "Examples")
            for word in re.findall(r"^  ([a-z][a-z-]*)\b", lines, re.M)]


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"documentation: {' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main(seqd, seqctl, root="."):
    documentation = Documentation(project.Tree(root), seqd)
    documentation.version(output_of(seqd, "--version"))
    documentation.errors()
    documentation.options()
    documentation.events(output_of(seqd, "--print-catalog"))
    seqd_help = output_of(seqd, "--help")
    documentation.command_line(MAN + "seqd.8.scd", seqd_help, long_options)
    documentation.exit_codes(seqd_help)
    seqctl_help = output_of(seqctl, "--help")
    if not subcommands(seqctl_help):
        documentation.complaints.append("seqctl --help lists no commands that this check can find")
    documentation.command_line(MAN + "seqctl.1.scd", seqctl_help, long_options)
    documentation.command_line(MAN + "seqctl.1.scd", seqctl_help, subcommands)
    for shell in SHELLS:
        documentation.command_line(COMPLETION + shell, seqctl_help, subcommands)
        for words in [seqctl_help] + [output_of(seqctl, command, "--help") for command in subcommands(seqctl_help)]:
            documentation.completion(COMPLETION + shell, words)
    for complaint in documentation.complaints:
        print(complaint)
    print(f"documentation: {len(documentation.complaints)} complaints" if documentation.complaints else "documentation: good")
    return 1 if documentation.complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

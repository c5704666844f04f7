"""Types commands of seqctl into a real shell, the command and the name of a sequence as the tab key completes them.

usage: typing.py bash|zsh|fish     Ends with 1 when the shell ran something else. Root's daemon has the sequences orders and
                                   shop:receipts; readline ends a word at a colon.
"""

import os
import pty
import select
import subprocess
import sys
import time

PATIENCE_S = 60
PROMPT = "ready>"
RESULT = "/tmp/typed"
LINES = [
    ("pee\tord\t", "orders"),
    ("pee\tshop:rec\t", "shop:receipts"),
    ("--socket=/run/seqd.sock pee\tord\t", "orders"),
    ("--socket=/run/seqd.s\t pee\tord\t", "orders"),
]
SHELLS = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], f"PS1='{PROMPT[:-1]}''> '; . /usr/share/bash-completion/bash_completion\r"),
    "zsh": (["zsh", "-f", "-i"], f"PS1='{PROMPT[:-1]}''> '; autoload -Uz compinit; compinit -u -D\r"),
    "fish": (["fish", "-i"], f"function fish_prompt; echo -n '{PROMPT[:-1]}''> '; end\r"),
}


class Terminal:
    """A shell behind a pseudoterminal; what it shows is kept."""

    def __init__(self, command):
        self.shown = b""
        self.process, self.line = pty.fork()
        if self.process == 0:
            os.environ.update(TERM="xterm", HOME="/root", LANG="C.UTF-8", PS1="$ ")
            os.execvp(command[0], command)

    def read(self, seconds):
        if select.select([self.line], [], [], seconds)[0]:
            try:
                self.shown += os.read(self.line, 65536)
            except OSError:  # it has ended
                return False
        return True

    def write(self, text):
        os.write(self.line, text.encode())

    def until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                sys.exit(f"waited in vain for {what}; the terminal shows: {self.shown.decode(errors='replace')!r}")
            self.read(0.05)


def main(shell):
    command, settings = SHELLS[shell]
    terminal = Terminal(command)
    terminal.until(lambda: len(terminal.shown) > 0, "a sign of life")
    terminal.write(settings)
    terminal.until(lambda: PROMPT.encode() in terminal.shown, "the prompt")
    good = all([runs(terminal, typed, sequence) for typed, sequence in LINES])
    terminal.write("exit\r")
    return 0 if good else 1


def runs(terminal, typed, sequence):
    """Whether the line, completed, asks for that sequence."""
    expected = subprocess.run(["seqctl", "--timeout", "60", "peek", sequence], capture_output=True, check=True).stdout
    if os.path.exists(RESULT):
        os.remove(RESULT)
    terminal.write("seqctl " + typed + ">" + RESULT + "; echo ended >>" + RESULT + "\r")
    terminal.until(lambda: os.path.exists(RESULT) and file_of(RESULT).endswith(b"ended\n"), "the end of a command that was completed")
    found = file_of(RESULT).removesuffix(b"ended\n")
    print(f"{typed!r}: {found.decode().strip()}")
    return found == expected


def file_of(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Types commands of seqctl into a real shell, the command and the name of a sequence as the tab key completes them.

usage: typing.py bash|zsh|fish     Ends with 1 when the shell ran something else, or a name. Root's daemon has the sequences orders and
                                   shop:receipts; readline ends a word at a colon.
"""

import os
import pty
import select
import socket
import subprocess
import sys
import threading
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
# What a daemon of somebody else, as in a container, may call a sequence.
PROOF = "/tmp/run-by-a-name"
HOSTILE = "$(touch${IFS}" + PROOF + ")"
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
    good = all([runs(terminal, typed, sequence) for typed, sequence in LINES] + [runs_no_name(terminal)])
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


def runs_no_name(terminal):
    """Whether the names of a hostile daemon are not run when they are completed."""
    harmless = "a" * len(HOSTILE)
    subprocess.run(["seqctl", "--timeout", "60", "next", harmless], capture_output=True, check=True)
    for path in (RESULT, PROOF):
        if os.path.exists(path):
            os.remove(path)
    asked = renaming_daemon("/tmp/hostile.sock", harmless.encode(), HOSTILE.encode())
    terminal.write("seqctl --socket=/tmp/hostile.sock peek \t")
    terminal.until(asked.is_set, "a request for the names")
    terminal.write("\x15echo ended >" + RESULT + "\r")
    terminal.until(lambda: os.path.exists(RESULT), "the end of the completion")
    return not os.path.exists(PROOF)


def renaming_daemon(path, name, other):
    """Passes everything on to the daemon and back, with another name of the same length. Set when it has passed that on."""
    if os.path.exists(path):
        os.remove(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    asked = threading.Event()

    def serve():
        while True:
            client, _ = listener.accept()
            with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon:
                daemon.connect("/run/seqd.sock")
                ends = {client: daemon, daemon: client}
                while data := (source := select.select(list(ends), [], [])[0][0]).recv(1 << 20):
                    ends[source].sendall(data.replace(name, other))
                    if name in data and source is daemon:
                        asked.set()

    threading.Thread(target=serve, daemon=True).start()
    return asked


def file_of(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

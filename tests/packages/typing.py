"""Types a command of seqctl into a real shell, the command and the name of a sequence as the tab key completes them.

usage: typing.py bash|zsh|fish     Ends with 1 when the shell ran something else. Root's daemon has a sequence orders.
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
    if os.path.exists(RESULT):
        os.remove(RESULT)
    command, settings = SHELLS[shell]
    terminal = Terminal(command)
    terminal.until(lambda: len(terminal.shown) > 0, "a sign of life")
    terminal.write(settings)
    terminal.until(lambda: PROMPT.encode() in terminal.shown, "the prompt")
    terminal.write("seqctl pee\tord\t>" + RESULT + "\r")
    expected = subprocess.run(["seqctl", "--timeout", "60", "peek", "orders"], capture_output=True, check=True).stdout
    terminal.until(lambda: os.path.exists(RESULT) and os.path.getsize(RESULT) >= len(expected), "what the completed command prints")
    terminal.write("exit\r")
    with open(RESULT, "rb") as file:
        found = file.read()
    print(f"{shell}: {found.decode().strip()}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

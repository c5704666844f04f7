"""Processes of build/old_code, the programs that handed out IDs before seqd, and what they did: each life of a process leaves a
file, which also a kill -9 leaves whole."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import harness
from servers.mongod import die_with_parent
from servers.patience import PATIENCE

PROGRAM = Path(os.environ.get("OLD_CODE_BIN", harness.BUILD / "old_code")).resolve()


class Life:
    """What a file says. A block is half-open, as the program took it from the counter; `open_asks` counts requests that may
    have moved the counter without anybody knowing: at most the last one."""

    def __init__(self, path: Path):
        self.blocks: List[Tuple[int, int]] = []
        self.ids: List[int] = []
        self.failures = 0
        self.open_asks = 0
        for line in path.read_text().splitlines():
            word, *numbers = line.split()
            if word == "id":
                self.ids.append(int(numbers[0]))
            elif word == "ask":
                assert self.open_asks == 0, f"{path}: two requests at once"
                self.open_asks = 1
            elif word == "block":
                self.blocks.append((int(numbers[0]), int(numbers[1])))
                self.open_asks = 0
            else:
                assert word == "failed", line
                self.failures += 1
                self.open_asks = 0
        taken = {number for begin, end in self.blocks for number in range(begin, end)}
        assert len(set(self.ids)) == len(self.ids) and taken.issuperset(self.ids), f"{path}: not what the blocks hold"
        self.lost = len(taken) - len(self.ids)


class OldCode:
    """One process at a time, which may be killed and started again."""

    def __init__(self, uri: str, directory: Path, label: str, arguments: List[str], name: str, environment: Optional[dict] = None):
        self.environment = {**os.environ, **(environment or {})}
        self.command = [str(PROGRAM), *arguments, "--uri", uri, "--name", name]
        self.files = directory / f"old-{label}"
        self.lives: List[Path] = []
        self.process: subprocess.Popen

    def start(self, *more: str) -> "OldCode":
        assert os.access(PROGRAM, os.X_OK), f"{PROGRAM} is missing: make {PROGRAM}"
        self.lives.append(Path(f"{self.files}.{len(self.lives)}"))
        self.lives[-1].touch()
        self.process = subprocess.Popen([*self.command, "--log", str(self.lives[-1]), *more], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment, preexec_fn=die_with_parent)
        return self

    def progress(self) -> int:
        """Bytes of what the present life has written."""
        return self.lives[-1].stat().st_size

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self, seconds: float = 20) -> Dict[str, int]:
        """An orderly end, or the end it came to by itself; what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.finish(seconds)

    def finish(self, seconds: float = 20) -> Dict[str, int]:
        said, _ = self.process.communicate(timeout=seconds * PATIENCE)
        assert self.process.returncode == 0, f"old code ended with {self.process.returncode}: {said}"
        return {word: int(number) for word, number in re.findall(r"(\w+) (\d+)", said)}

    def read(self) -> Iterator[Life]:
        return (Life(path) for path in self.lives)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()

"""File systems of the tests' own: small enough to be filled, and real enough to lose power.

Each lives in a mount namespace that goes with the test, however it ends: nothing stays mounted.
"""

import fcntl
import os
import shutil
import struct
import subprocess
import uuid
from pathlib import Path

from servers.mongod import die_with_parent
from servers.patience import PROGRAM_SECONDS

# _IOR('X', 125, __u32): ext4 and xfs stop all writing at once.
FS_IOC_SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
NO_LOG_FLUSH = 2  # what was not synced is gone, what was synced stays
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class NotShown(Exception):
    """This machine cannot do what the test needs: neither good nor bad, but said and counted."""


class Namespace:
    """A process that holds a mount namespace in which `script` has mounted something at `path`."""

    def __init__(self, path: Path, script: str, *arguments: str, privileged: bool = False):
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        unshare = ["unshare", "--mount"] if privileged else ["unshare", "--user", "--map-root-user", "--mount"]
        self.holder = subprocess.Popen([*unshare, "sh", "-ec", script + "\necho mounted\nread line", str(path), *arguments],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       preexec_fn=die_with_parent)
        enter = ["--mount"] if privileged else ["--preserve-credentials", "--user", "--mount"]
        self.prefix = ["nsenter", *enter, f"--target={self.holder.pid}"]

    def is_mounted(self) -> bool:
        return self.holder.stdout.readline() == b"mounted\n"

    def inside(self, name: str = ".") -> Path:
        """A file of it, as it is seen from outside of the namespace."""
        return Path(f"/proc/{self.holder.pid}/root{self.path}") / name

    def run(self, *command: str) -> None:
        done = subprocess.run([*self.prefix, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROGRAM_SECONDS,
                              check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"

    def fill(self) -> None:
        with open(self.inside("fill"), "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
            os.fsync(file.fileno())

    def free(self) -> None:
        self.inside("fill").unlink()

    def free_only(self, size: int) -> None:
        """What is full now has `size` bytes of room."""
        with open(self.inside("fill"), "r+b") as file:
            file.truncate(os.fstat(file.fileno()).st_size - size)
            os.fsync(file.fileno())

    def close(self) -> None:
        self.holder.kill()
        self.holder.communicate()


class SmallDisk(Namespace):
    """A tmpfs of a few megabytes, which needs no privilege."""

    def __init__(self, path: Path, size: str, files: int = 0):
        """`files`: how many it can have; 0 is no limit."""
        super().__init__(path, f'mount -t tmpfs -o size={size},nr_inodes={files},mode=0700 tmpfs "$0"')
        assert self.is_mounted(), "no mount namespace could be made"


class LoopDisk(Namespace):
    """An ext4 in a file, on a machine of its own as far as the boot id tells: its power can be cut."""

    def __init__(self, path: Path, megabytes: int = 48):
        self.image = path.with_suffix(".ext4")
        self.boot_id = path.with_suffix(".boot-id")
        self.new_boot()
        with open(self.image, "wb") as image:
            image.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0", str(self.image)], check=True,
                       stdin=subprocess.DEVNULL, timeout=PROGRAM_SECONDS)
        # In a container something else may lie over the boot id already, of which the file is gone.
        script = f'umount {BOOT_ID} 2>/dev/null || true; mount -o loop "$1" "$0"; mount --bind "$2" {BOOT_ID}'
        super().__init__(path, script, str(self.image), str(self.boot_id), privileged=True)
        if not self.is_mounted():
            said = " ".join(self.holder.communicate()[1].decode().split())
            raise NotShown(f"no file system can be mounted from a file, which needs root and loop devices ({said})")
        self.state = path / "state"
        self.inside("state").mkdir()
        self.sync()

    def new_boot(self) -> None:
        self.boot_id.write_text(str(uuid.uuid4()) + "\n")

    def cut_power(self) -> None:
        """From here on nothing reaches the medium any more."""
        directory = os.open(self.inside(), os.O_RDONLY)
        try:
            fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(directory)

    def boot(self, witness: Path) -> None:
        """The machine comes up again: what is on the medium, another boot id, an empty /run."""
        self.mount_again()
        self.new_boot()
        forget(witness)

    def mount_again(self) -> None:
        self.run("umount", str(self.path))
        self.run("mount", "-o", "loop", str(self.image), str(self.path))

    def sync(self) -> None:
        self.run("sync", "--file-system", str(self.path))

    def meet_a_damaged_block(self) -> None:
        """ext4 takes it for damaged, and does what its option errors= says."""
        device = os.stat(self.inside()).st_dev
        name = os.path.basename(os.readlink(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
        Path(f"/sys/fs/ext4/{name}/trigger_fs_error").write_text("a test")

    def mend(self) -> None:
        """What an operator does after that."""
        self.run("umount", str(self.path))
        subprocess.run(["fsck.ext4", "-p", str(self.image)], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROGRAM_SECONDS, check=False)
        self.run("mount", "-o", "loop", str(self.image), str(self.path))

    def remount(self, options: str) -> None:
        self.run("mount", "-o", f"remount,{options}", str(self.path))


def forget(directory: Path) -> None:
    """Empties a directory, as a reboot does with what lies on a tmpfs."""
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

"""State directories of every version there has been, as they were left by the daemon of that time, and one of a version that
is still to come. golden/state-version-1-*.tar.xz: 130 IDs of "orders" and 30 of "invoices", of leases of 1000 each."""

import struct
import tarfile
from pathlib import Path

import pytest

import harness
from accounting import journalled_gaps

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
EXIT_CORRUPT = 65
HEADER = 80  # bytes in front of the header's check sum


def unpack(name: str, place: Path) -> None:
    with tarfile.open(GOLDEN / name) as archive:
        archive.extractall(place)


def crc32c(data: bytes) -> int:
    """Bit by bit: the check sum of the header, as LOG-FORMAT.md has it."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def test_AStateOfVersion1ThatWasStoppedGoesOn(make_daemon):
    daemon = make_daemon(daemon={"state_log_size": "256KiB"})
    unpack("state-version-1-clean.tar.xz", daemon.state)
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"] == "clean"
        assert client.next("orders", timeout_ms=20_000) == 131
        assert client.next("invoices", timeout_ms=20_000) == 31


def test_AStateOfVersion1ThatWasKilledIsForfeitedOnAnotherMachine(make_daemon):
    daemon = make_daemon(daemon={"state_log_size": "256KiB"})
    unpack("state-version-1-running.tar.xz", daemon.state)
    with daemon.start().connect() as client:
        assert client.call("status")["state_how"].startswith("forfeited: ")
        assert client.next("orders", timeout_ms=20_000) == 1001
        assert client.next("invoices", timeout_ms=20_000) == 1001
    assert journalled_gaps(daemon.stderr_file, "orders") == [range(131, 1001)]
    # Its IDs were issued after the last flush: only the lost witness knew of them, so they count as lost, too.
    assert journalled_gaps(daemon.stderr_file, "invoices") == [range(1, 1001)]


@pytest.mark.parametrize("version,extra", [(0, 0), (2, 0), (7, 0), (0xFFFFFFFF, 0), (1, 1)])
def test_AStateOfAnUnknownVersionIsRefusedAndKept(make_daemon, version, extra):
    """Never reset to empty: somebody has started an older seqd on the state of a newer one."""
    daemon = make_daemon(daemon={"state_log_size": "256KiB"})
    unpack("state-version-1-clean.tar.xz", daemon.state)
    files = sorted(daemon.state.glob("log.?"))
    assert len(files) == 2
    for path in files:
        data = bytearray(path.read_bytes())
        if any(data[:HEADER]):
            assert struct.unpack_from("<I", data, HEADER)[0] == crc32c(data[:HEADER])
            struct.pack_into("<II", data, 8, version, extra)
            struct.pack_into("<I", data, HEADER, crc32c(data[:HEADER]))
            path.write_bytes(data)
    before = [path.read_bytes() for path in files]
    for _ in range(2):
        with pytest.raises(harness.Died) as died:
            daemon.start()
        assert died.value.code == EXIT_CORRUPT and "version" in died.value.stderr
    assert [path.read_bytes() for path in files] == before

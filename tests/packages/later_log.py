"""Makes the logs of a state directory those of a later version of seqd: only the version in their headers.

usage: later_log.py DIRECTORY VERSION
"""

import pathlib
import struct
import sys

HEADER = 80  # bytes in front of the header's check sum


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def main(directory, version):
    for name in ("log.0", "log.1"):
        with open(pathlib.Path(directory) / name, "r+b") as log:
            header = bytearray(log.read(HEADER))
            if not any(header):
                continue
            struct.pack_into("<I", header, 8, int(version))
            log.seek(0)
            log.write(header + struct.pack("<I", crc32c(header)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Every ID from 1 to the highest was received by exactly one client.

usage: every_id_once.py TEXT BINARY...    IDs one a line, and files of 64-bit integers in the machine's order
"""

import array
import sys


def main(text, *binaries):
    ids = array.array("q")
    with open(text, encoding="ascii") as file:
        ids.extend(int(line) for line in file)
    for binary in binaries:
        with open(binary, "rb") as file:
            data = file.read()
        ids.frombytes(data[:len(data) // 8 * 8])
    distinct = set(ids)
    highest = max(distinct)
    print(f"{len(ids)} IDs, {len(ids) - len(distinct)} of them twice, {highest - len(distinct)} missing")
    return 0 if len(ids) == len(distinct) == highest and min(distinct) == 1 and len(ids) > 1000 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

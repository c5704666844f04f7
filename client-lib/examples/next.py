#!/usr/bin/python3
"""Takes one ID, then ten at once. Usage: next.py SEQUENCE [SOCKET]"""

import sys

import seqd


def main() -> int:
    if len(sys.argv) < 2:
        print(f"usage: {sys.argv[0]} SEQUENCE [SOCKET]", file=sys.stderr)
        return 2
    sequence = sys.argv[1]
    try:
        with seqd.Client(sys.argv[2] if len(sys.argv) > 2 else None, name="example") as client:
            print("one ID:", client.next(sequence))

            pipeline = client.pipeline()
            for _ in range(10):
                pipeline.next(sequence)
            for number in pipeline.execute():
                print("and", number)
    except seqd.SeqdError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

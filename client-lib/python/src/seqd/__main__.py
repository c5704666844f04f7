"""Takes IDs from a shell: python -m seqd next orders

Exit codes: 0 success, 1 an error, 2 wrong usage, 75 an error after which the same command can succeed later.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, List, Optional, Sequence

from . import Client, SeqdError, __version__

TEMPORARY = 75  # EX_TEMPFAIL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m seqd", description="Takes IDs from the seqd daemon of this host.")
    parser.add_argument("--socket", metavar="PATH", help="default: SEQD_SOCKET, then /run/seqd.sock")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=5.0, help="of the whole command (default 5)")
    parser.add_argument("--version", action="version", version=f"seqd {__version__} (Python)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    following = commands.add_parser("next", help="IDs, one a line")
    following.add_argument("name")
    following.add_argument("-n", "--count", type=int, default=1)
    following.add_argument("--text", action="store_true", help="as the format of the sequence describes")
    runs = commands.add_parser("range", help="IDs as runs: first ID, count, step")
    runs.add_argument("name")
    runs.add_argument("count", type=int)
    meaning = commands.add_parser("parse", help="what a text of a sequence means, as JSON")
    meaning.add_argument("name")
    meaning.add_argument("text")
    commands.add_parser("peek", help="what would come next, as JSON").add_argument("name")
    commands.add_parser("status", help="what the daemon says of itself, as JSON")
    method = commands.add_parser("call", help="any method; its result as JSON")
    method.add_argument("method")
    method.add_argument("params", nargs="*", help="each a JSON value, or else a text")
    return parser


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _carry_out(client: Client, chosen: argparse.Namespace) -> List[str]:
    if chosen.command == "next" and chosen.text:
        pipeline = client.pipeline()
        for _ in range(chosen.count):
            pipeline.next_text(chosen.name)
        return [str(one) for one in pipeline.execute()]
    if chosen.command == "next":
        return [str(one) for one in client.next_many(chosen.name, chosen.count)]
    if chosen.command == "range":
        return [f"{run.start} {len(run)} {run.step}" for run in client.range(chosen.name, chosen.count)]
    if chosen.command == "parse":
        return [json.dumps(client.parse(chosen.name, chosen.text)._asdict())]
    if chosen.command == "peek":
        return [json.dumps(client.peek(chosen.name)._asdict())]
    if chosen.command == "status":
        return [json.dumps(client.status(), default=repr)]
    return [json.dumps(client.call(chosen.method, *map(_value, chosen.params)), default=repr)]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        with Client(chosen.socket, name="python -m seqd", timeout=chosen.timeout) as client:
            for line in _carry_out(client, chosen):
                print(line)
    except SeqdError as error:
        print(error, file=sys.stderr)
        return 2 if error.code == "ARGUMENT" else TEMPORARY if error.temporary else 1
    return 0


def run() -> None:
    sys.exit(main())


if __name__ == "__main__":
    run()

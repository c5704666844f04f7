#!/usr/bin/python3
"""Real servers for the tests of the plugins, until the standard input ends: servers.py mongo|dynamo...

Prints one line of JSON: {"mongo": URI of a replica set of one member, "dynamo": endpoint of DynamoDB Local}.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests" / "integration" / "servers"))
# pylint: disable=wrong-import-position
from dynamodb_local import DynamoServer
from mongod import ReplicaSet
from mongod_binary import ServerNotAvailable


def main() -> int:
    opened, found = [], {}
    try:
        if "mongo" in sys.argv[1:]:
            opened.append(ReplicaSet("rsnode", 1))
            found["mongo"] = opened[-1].start().uri()
        if "dynamo" in sys.argv[1:]:
            opened.append(DynamoServer())
            found["dynamo"] = opened[-1].start().endpoint()
        print(json.dumps(found), flush=True)
        sys.stdin.read()
        return 0
    except ServerNotAvailable as error:
        print(f"servers: {error}", file=sys.stderr)
        return 1
    finally:
        for server in opened:
            server.close()


if __name__ == "__main__":
    sys.exit(main())
